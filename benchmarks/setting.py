"""What the benchmarks of trees and budgets share: a model with heads, prompts as ids, the machine, and how a report ends."""

import argparse
import json
import os
import platform
import random
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import headstart
from headstart.drafters.arrangement import GrownTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.medusa import MedusaDrafter
from headstart.finding_heads import find_heads
from headstart.finite import finite
from headstart.models.dtype import dtype_name, resolve_dtype
from headstart.models.loading import load_model
from headstart.models.processor import processor
from headstart.models.protocol import BaseModel
from headstart.sampling.params import SamplingParams
from headstart.text.tokenizer import Tokenizer
from headstart.trees.step_table import StepTable
from headstart.tuning.choice import step_table
from headstart.tuning.learned import Learned, learn
from headstart.tuning.observe import observe
from headstart.tuning.prompts import read_prompts
from headstart.tuning.step_times import measure_steps


@dataclass(frozen=True)
class Setting:
    """Loaded for a benchmark."""

    model: BaseModel
    heads: HeadsDirectory
    tokenizer: Tokenizer
    prompts: list[Sequence[int]]
    stop_ids: frozenset[int]


def parser(description: str | None, *, limit: int, tokens: int) -> argparse.ArgumentParser:
    """With the options that all have."""
    found = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    found.add_argument("--prompts", type=Path, help="JSONL; by default the bundled set")
    found.add_argument("--limit", type=int, default=limit, help="prompts, spread over the file")
    found.add_argument("--max-new-tokens", type=int, default=tokens)
    found.add_argument("--model", default="bundled")
    found.add_argument("--heads", default="auto")
    found.add_argument("--dtype", default=dtype_name(resolve_dtype("auto", torch.device("cpu"))))
    found.add_argument("--seed", type=int, default=0)
    found.add_argument("--output", type=Path)
    return found


def setting(args: argparse.Namespace) -> Setting:
    """The model and heads asked for; prompts in random order, of every part of the file."""
    model, hf_tokenizer = load_model(args.model, dtype=args.dtype)
    heads = find_heads(args.model, args.heads)
    if heads is None or hf_tokenizer is None:
        raise SystemExit("the benchmark needs heads and a tokenizer")
    tokenizer = Tokenizer(hf_tokenizer)
    rows = read_prompts(args.prompts)
    step = max(1.0, len(rows) / args.limit)
    prompts = [rows[int(i * step)].ids(tokenizer) for i in range(min(args.limit, len(rows)))]
    random.Random(args.seed).shuffle(prompts)
    return Setting(model, heads, tokenizer, prompts, frozenset(model.facts.eos_ids) | tokenizer.end_of_turn_ids)


def machine() -> dict[str, Any]:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return {
        "processor": processor(device),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "headstart": headstart.__version__,
    }


def spread(values: Sequence[float]) -> dict[str, float]:
    """Median and quartiles."""
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [*values] * 3
    return {"median": round(median, 3), "q1": round(q1, 3), "q3": round(q3, 3)}


def without_folders(word: str) -> str:
    """A word of a command line with names of files in place of their paths, also behind NAME=."""
    name, equals, path = word.rpartition("=")
    return f"{name}{equals}{Path(path).name}"


def finish(name: str, args: argparse.Namespace, report: dict[str, Any]) -> None:
    """Print one JSON object and write it."""
    whole = {
        "benchmark": name,
        "command": " ".join(without_folders(word) for word in sys.argv),
        "max_new_tokens": args.max_new_tokens,
        "dtype": args.dtype,
        "machine": machine(),
        **finite(report),
    }
    if args.output:
        args.output.parent.mkdir(parents=True, exist_ok=True)
        args.output.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(whole), flush=True)


def progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def learned_table(
    here: Setting,
    guesses: HeadGuesses,
    prompts: Sequence[Sequence[int]],
    params: SamplingParams,
    args: argparse.Namespace,
    *,
    more: Sequence[int],
) -> tuple[Learned, StepTable]:
    """What ``prompts`` teach, for one text at once: trees and calibration, and the table that a size is chosen from."""
    sizes = sorted({1, 2, 3, 4, 5, 6, 8, 10, 12, 16, *more})
    progress(f"observing the heads on {len(prompts)} prompts")
    seen = observe(
        here.model, guesses, prompts, tokens=args.max_new_tokens, stop_ids=here.stop_ids, params=params, seed=args.seed + 1
    )  # fmt: skip
    learned = learn(seen, [*sizes, 64])
    progress("measuring steps")
    config = here.heads.config
    grown = MedusaDrafter(guesses, GrownTree(config.num_heads, config.projected_vocab, learned.calibration))
    steps = measure_steps(
        here.model, grown, prompts, sizes=sizes, rows=1, params=params, tokens=args.max_new_tokens, rounds=40, seconds=args.seconds
    )
    return learned, step_table(learned.grown, steps)
