"""Times of single passes: the native decoder beside the transformers adapter and beside what memory allows.

    python benchmarks/pass_time.py --output benchmarks/results/pass_time.json

Every turn runs each pass of each variant once, in an order that rotates, and reads memory as well, so that a machine that slows
down slows all of them; ratios are medians over turns of the ratio within a turn. The last line printed is one JSON object.

Variants: the native decoder with ``bitwise=True`` and ``bitwise=False`` at 100 tokens of context and at a long one, the adapter
as it is, and the adapter with transformers' eager attention. The adapter's products are torch's own, not packed. ``--weights`` adds
the native decoder with rounded matrices, with equal bits where it keeps them and without.
"""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import torch
import transformers

import headstart
from headstart.models.loading import load_model
from headstart.models.native import NativeModel
from headstart.models.processor import processor
from headstart.models.source import find, load_pretrained
from headstart.models.threads import cpu_threads
from headstart.models.transformers_adapter import TransformersModel
from headstart.tuning.bandwidth import read_bandwidth
from headstart.tuning.pass_bytes import PassBytes, pass_bytes
from headstart.tuning.warm_pass import WarmPass

NODES = (1, 2, 4, 8, 16, 32, 64)
NATIVE = {"bitwise": True, "fast": False}
Times = dict[tuple[str, int], list[float]]


def load_seconds(model: str, dtype: str, loads: int = 3) -> list[float]:
    """Loading again and again, everything that a pass needs included; imports are done."""
    found = []
    for _ in range(loads):
        began = time.perf_counter()
        load_model(model, dtype=dtype, device="cpu")
        found.append(round(time.perf_counter() - began, 3))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--context", type=int, default=100)
    parser.add_argument("--long-context", type=int, default=4000, help="0 leaves it out")
    parser.add_argument("--turns", type=int, default=25)
    parser.add_argument("--weights", nargs="*", default=[], choices=("int8", "int4"))
    parser.add_argument("--threads", type=int)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    with cpu_threads(args.threads) as threads:
        loading = load_seconds(args.model, args.dtype)
        result = {
            "benchmark": "pass_time",
            "command": " ".join(Path(word).name for word in sys.argv),
            "model": args.model,
            "dtype": args.dtype,
            "machine": {
                "processor": processor(torch.device("cpu")),
                "threads": threads,
                "torch": torch.__version__,
                "transformers": transformers.__version__,
                "headstart": headstart.__version__,
            },
            "load_seconds": loading,
            **measured(args),
        }
    print(json.dumps(result), flush=True)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def measured(args: argparse.Namespace) -> dict[str, Any]:
    pretrained, _, _ = load_pretrained(find(args.model), args.dtype, "cpu")
    room = {"name": args.model, "max_rows": 1, "cache_tokens": 2 * max(args.context, args.long_context) + 256}
    natives = {name: NativeModel(pretrained, bitwise=bitwise, **room) for name, bitwise in NATIVE.items()}
    size = pass_bytes(natives["fast"])
    for weights in args.weights:
        natives[weights] = NativeModel(pretrained, weights=weights, bitwise=True, **room)
        natives[f"{weights} fast"] = NativeModel(pretrained, weights=weights, bitwise=False, **room)
    models: dict[str, Any] = dict(natives)
    models["adapter"] = TransformersModel(pretrained, **room)
    models["adapter eager"] = TransformersModel(pretrained, **room)
    models["adapter eager"]._attention = None  # transformers' own, as its generate would take it
    context = dict.fromkeys(models, args.context)
    if args.long_context:
        for name, bitwise in NATIVE.items():
            models[f"{name} long"] = NativeModel(pretrained, bitwise=bitwise, **room)
            context[f"{name} long"] = args.long_context
    passes = [(name, n) for name in models for n in (NODES if name in natives else (1, 8) if "long" not in name else (1,))]
    times: Times = {which: [] for which in passes}
    rates: list[float] = []
    with ExitStack() as open_passes:
        warm = {
            name: open_passes.enter_context(WarmPass(model, context=context[name], nodes=max(NODES)))
            for name, model in models.items()
        }
        for name, n in passes:
            warm[name](n)
        for turn in range(args.turns):
            start = turn % len(passes)
            for name, n in passes[start:] + passes[:start]:
                times[name, n].append(warm[name].timed(n))
            rates.append(read_bandwidth(size.total(args.context), torch.device("cpu"), reads=2).median)
            print(f"turn {turn + 1}/{args.turns}: fast T(1) {times['fast', 1][-1] * 1e3:.1f} ms", file=sys.stderr, flush=True)
    return report(times, rates, size, args)


def report(times: Times, rates: Sequence[float], size: PassBytes, args: argparse.Namespace) -> dict[str, Any]:
    def ratio(top: tuple[str, int], bottom: tuple[str, int]) -> dict[str, float]:
        return spread([a / b for a, b in zip(times[top], times[bottom], strict=True)], 3)

    floors = [size.total(args.context) / rate for rate in rates]
    found: dict[str, Any] = {
        "context": args.context,
        "turns": len(rates),
        "bytes_per_pass": size.total(args.context),
        "bandwidth_gb_per_s": spread([rate / 1e9 for rate in rates], 2),
        "floor_ms": spread([floor * 1e3 for floor in floors], 2),
        "ms": {f"{name}, {n}": spread([t * 1e3 for t in found], 2) for (name, n), found in times.items()},
        "t1_over_floor": {name: spread([t / floor for t, floor in zip(times[name, 1], floors, strict=True)], 3) for name in NATIVE},
        "tn_over_t1": {name: {n: ratio((name, n), (name, 1)) for n in NODES} for name in NATIVE},
        "native_over_adapter": {
            other: {name: {n: ratio((name, n), (other, n)) for n in (1, 8)} for name in NATIVE}
            for other in ("adapter", "adapter eager")
        },
        "bitwise_over_fast": {n: ratio(("bitwise", n), ("fast", n)) for n in NODES},
    }
    if args.weights:  # each against bfloat16 in the same order of attention
        found["rounded_over_not"] = {
            name: {n: ratio((name, n), (order, n)) for n in NODES}
            for weights in args.weights
            for name, order in ((weights, "bitwise"), (f"{weights} fast", "fast"))
        }
    if args.long_context:
        found["long_context"] = {name: long_context(times, rates, size, args, name) for name in NATIVE}
    return found


def long_context(times: Times, rates: Sequence[float], size: PassBytes, args: argparse.Namespace, name: str) -> dict[str, Any]:
    """How much a plain step grows with the context, beside what reading the larger cache takes."""
    growth = [long - short for long, short in zip(times[f"{name} long", 1], times[name, 1], strict=True)]
    nbytes = (args.long_context - args.context) * size.cache_per_position
    return {
        "context": args.long_context,
        "t1_ratio": spread([a / b for a, b in zip(times[f"{name} long", 1], times[name, 1], strict=True)], 3),
        "bytes_ratio": round(size.total(args.long_context) / size.total(args.context), 3),
        "growth_over_reading_the_cache": spread([g / (nbytes / rate) for g, rate in zip(growth, rates, strict=True)], 2),
    }


def spread(values: Sequence[float], digits: int) -> dict[str, float]:
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {"median": round(median, digits), "q1": round(q1, digits), "q3": round(q3, digits)}


if __name__ == "__main__":
    main()
