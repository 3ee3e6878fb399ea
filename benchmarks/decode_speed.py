"""Decoding speed of a model with its heads against plain decoding and transformers' ``generate``, interleaved in one run.

    python benchmarks/decode_speed.py --prompts question.jsonl --limit 60 --output benchmarks/results/decode_speed.json

``--prompts`` takes Spec-Bench's ``question.jsonl`` (first turns). Each prompt is decoded by every variant before the next one,
in an order that rotates, so that a machine that slows down slows all of them. The last line printed is one JSON object.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.generation.streamers import BaseStreamer

import headstart
from headstart.models.bundled import bundled_path


class FirstToken(BaseStreamer):
    """Notes when the first new token came, so that prefill can be told from decoding."""

    def __init__(self) -> None:
        self.calls, self.at = 0, 0.0

    def put(self, value: torch.Tensor) -> None:
        self.calls += 1
        if self.calls == 2:  # the first call hands over the prompt
            self.at = time.perf_counter()

    def end(self) -> None:
        pass


def read_prompts(path: Path, limit: int) -> list[tuple[str, str]]:
    """(category, first turn), spread over the file so that every category is there."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    step = max(1.0, len(rows) / limit)
    return [(row["category"], row["turns"][0]) for row in (rows[int(i * step)] for i in range(min(limit, len(rows))))]


def machine() -> dict[str, Any]:
    cpu = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line), "")
    return {
        "cpu": cpu or platform.processor(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "headstart": headstart.__version__,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--max-new-tokens", type=int, default=128)
    parser.add_argument("--nodes", type=int, nargs="*", default=[4, 8, 16], help="sizes of trees that are grown each step")
    parser.add_argument("--static-nodes", type=int, nargs="*", default=[8], help="sizes of the heads' own static tree")
    parser.add_argument("--combined-nodes", type=int, nargs="*", default=[8], help="sizes of trees of heads and n-grams together")
    parser.add_argument("--heads", default="auto")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--weights", choices=["int8", "int4"])
    parser.add_argument("--no-bitwise", dest="bitwise", action="store_false")
    parser.add_argument("--skip-transformers", action="store_true")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()

    path = str(bundled_path())
    llm = headstart.load("bundled", heads=args.heads, dtype=args.dtype, bitwise=args.bitwise, weights=args.weights)
    prompts = read_prompts(args.prompts, args.limit)
    variants: dict[str, Any] = {"plain": {"drafter": "none"}}
    variants |= {f"heads, {n} nodes": {"drafter": "medusa", "nodes": n} for n in args.nodes}
    variants |= {f"heads, {n} nodes, static": {"drafter": "medusa-static", "nodes": n} for n in args.static_nodes}
    variants |= {f"heads and n-grams, {n} nodes": {"drafter": "combined", "nodes": n} for n in args.combined_nodes}
    if not args.skip_transformers:
        variants["transformers generate"] = None
        reference = AutoModelForCausalLM.from_pretrained(path, dtype=getattr(torch, args.dtype)).eval()
        tokenizer = AutoTokenizer.from_pretrained(path)

    def ours(prompt: str, options: dict[str, Any]) -> dict[str, Any]:
        began = time.perf_counter()
        out = llm.chat(prompt, max_new_tokens=args.max_new_tokens, **options)
        seconds, stats = time.perf_counter() - began, out.stats
        decode = seconds - stats.seconds["prefill"]  # everything that is not prefill, our own bookkeeping included
        outside = decode - stats.seconds["draft"] - stats.seconds["verify"]
        return {
            "ids": list(out.token_ids), "seconds": seconds, "decode": decode, "outside": outside, "draft": stats.seconds["draft"],
            "steps": stats.steps, "depths": stats.accepted_per_depth,
        }  # fmt: skip

    def theirs(prompt: str) -> dict[str, Any]:
        inputs = tokenizer.apply_chat_template(
            [{"role": "user", "content": prompt}], add_generation_prompt=True, return_tensors="pt", return_dict=True
        )
        first = FirstToken()
        began = time.perf_counter()
        with torch.inference_mode():
            out = reference.generate(**inputs, max_new_tokens=args.max_new_tokens, do_sample=False, streamer=first)
        ended = time.perf_counter()
        return {"ids": out[0, inputs["input_ids"].shape[1] :].tolist(), "seconds": ended - began, "decode": ended - first.at}

    names = list(variants)

    def run(name: str, prompt: str) -> dict[str, Any]:
        return theirs(prompt) if variants[name] is None else ours(prompt, variants[name])

    for name in names:  # warm up
        run(name, "Say hello.")
    rows: list[dict[str, Any]] = []
    for i, (category, prompt) in enumerate(prompts):
        order = names[i % len(names) :] + names[: i % len(names)]
        result = {name: run(name, prompt) for name in order}
        rows.append({"category": category, **result})
        speeds = ", ".join(f"{name} {(len(result[name]['ids']) - 1) / result[name]['decode']:.1f}" for name in names)
        print(f"{i + 1}/{len(prompts)} {category}: tokens/s {speeds}", file=sys.stderr, flush=True)

    print(json.dumps(report(rows, names, args)), flush=True)
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(report(rows, names, args), indent=1) + "\n", encoding="utf-8")


def report(rows: list[dict[str, Any]], names: list[str], args: argparse.Namespace) -> dict[str, Any]:
    """Ratios are medians over prompts of (tokens/s of a variant) / (tokens/s of the other) on the same prompt."""
    long_enough = [row for row in rows if all(len(row[name]["ids"]) > 1 for name in names)]

    def rate(row: dict[str, Any], name: str, kind: str) -> float:
        tokens = len(row[name]["ids"]) - (kind == "decode")
        return tokens / row[name][kind]

    def ratio(name: str, base: str, kind: str) -> dict[str, float]:
        values = sorted(rate(row, name, kind) / rate(row, base, kind) for row in long_enough)
        quarters = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
        return {"median": round(statistics.median(values), 3), "q1": round(quarters[0], 3), "q3": round(quarters[2], 3)}

    variants: dict[str, Any] = {}
    for name in names:
        runs = [row[name] for row in long_enough]
        entry: dict[str, Any] = {
            "tokens_per_second_decode": round(statistics.median(rate(row, name, "decode") for row in long_enough), 2),
            "tokens_per_second_end_to_end": round(statistics.median(rate(row, name, "seconds") for row in long_enough), 2),
            "against_plain": {kind: ratio(name, "plain", kind) for kind in ("decode", "seconds")},
        }
        if "transformers generate" in names:
            entry["against_transformers"] = {kind: ratio(name, "transformers generate", kind) for kind in ("decode", "seconds")}
        entry["same_ids_as_plain"] = sum(row[name]["ids"] == row["plain"]["ids"] for row in long_enough)
        if "steps" in runs[0]:
            steps, tokens = sum(run["steps"] for run in runs), sum(len(run["ids"]) - 1 for run in runs)
            depth = max(len(run["depths"]) for run in runs)
            entry["tokens_per_step"] = round(tokens / steps, 3)
            entry["accepted_per_depth"] = [
                round(sum(run["depths"][d] for run in runs if len(run["depths"]) > d) / steps, 3) for d in range(depth)
            ]
            entry["draft_share"] = round(sum(run["draft"] for run in runs) / sum(run["decode"] for run in runs), 4)
            entry["outside_share"] = round(sum(run["outside"] for run in runs) / sum(run["decode"] for run in runs), 4)
            by_category: dict[str, list[dict[str, Any]]] = defaultdict(list)
            for row in long_enough:
                by_category[row["category"]].append(row[name])
            entry["tokens_per_step_by_category"] = {
                category: round(sum(len(r["ids"]) - 1 for r in group) / sum(r["steps"] for r in group), 3)
                for category, group in sorted(by_category.items())
            }
        variants[name] = entry
    return {
        "benchmark": "decode_speed",
        "command": " ".join(Path(word).name for word in sys.argv),
        "prompts": len(rows),
        "counted": len(long_enough),
        "max_new_tokens": args.max_new_tokens,
        "dtype": args.dtype,
        "weights": args.weights,
        "bitwise": args.bitwise,
        "machine": machine(),
        "variants": variants,
    }


if __name__ == "__main__":
    main()
