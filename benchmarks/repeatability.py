"""Whether ``headstart bench`` agrees with itself, and what its measuring costs.

    python benchmarks/repeatability.py --output benchmarks/results/repeatability.json

Pairs of runs of the same command, each in a process of its own, one after the other: a pair agrees where each median lies in the
other's stated interval. Then texts are decoded by the bench's own timed loop and by the same loop with no clock in it nor in the
engine, in turn. Run it while nothing else runs. ``--keep DIR`` keeps the runs, and one that was stopped goes on there. The last
line printed is one JSON object.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setting import finish, parser, progress, spread

import headstart
import headstart.engine.engine as engine_module
from headstart.bench.bootstrap import median_interval
from headstart.bench.compare import compare
from headstart.bench.contestants import OurWay, about
from headstart.bench.questions import read_questions
from headstart.bench.result import read_result
from headstart.completion import Stats
from headstart.models.threads import cpu_threads
from headstart.request import Request
from headstart.text.output import TextOutput

AGREE = 0.9
"""Share of pairs that are expected to agree."""
MEASURING = 0.02
"""More of the time than this for measuring is a failure."""


def main() -> None:
    words = parser(__doc__, limit=16, tokens=64)
    words.add_argument("--pairs", type=int, default=10)
    words.add_argument("--against", default="none", help="as for headstart bench")
    words.add_argument("--rounds", type=int, default=4, help="times that each text is decoded with and without clocks")
    words.add_argument("--keep", type=Path, help="a directory for the runs")
    args = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="repeatability-") as temporary:
        agreement = pairs(args, args.keep or Path(temporary))
    with cpu_threads(None):
        measuring = cost_of_measuring(args)
    finish("repeatability", args, {"agreement": agreement, "measuring": measuring})


def pairs(args: argparse.Namespace, directory: Path) -> dict[str, Any]:
    found: dict[str, list[dict[str, Any]]] = {}
    noises = []
    for number in range(args.pairs):
        one, other = (one_run(args, directory / f"{number}-{run}") for run in "ab")
        checked = [row["noise"]["median_difference"] for each in (one, other) for row in each["latency"]["settings"]]
        noises += [apart for apart in checked if apart is not None]
        for row in compare(one, other)["rows"]:
            name = row["contestant"]
            found.setdefault(name, []).append(
                {"agree": row["agree"], **{run: [round(row[run][key], 4) for key in ("estimate", "low", "high")] for run in ROWS}}
            )
            progress(f"pair {number + 1}/{args.pairs}, {name}: {'agrees' if row['agree'] else 'disagrees'}")
    counted = {name: sum(row["agree"] for row in rows) for name, rows in found.items()}
    return {
        "pairs": args.pairs,
        "questions": args.limit,
        "agree": counted,
        "median_difference_of_repeats": spread(noises) if noises else None,
        "at_least": AGREE,
        "holds": bool(counted) and all(agree >= AGREE * len(found[name]) for name, agree in counted.items()),
        "medians_and_intervals": found,
    }


ROWS = ("before", "after")
"""What a comparison calls the two runs."""


def one_run(args: argparse.Namespace, output: Path) -> dict[str, Any]:
    options = ["--heads", args.heads, "--dtype", args.dtype, "--limit", str(args.limit), "--turns", "1", "--seed", str(args.seed)]
    options += ["--max-new-tokens", str(args.max_new_tokens), "--against", args.against, "--output", str(output)]
    if args.prompts:
        options += ["--prompts", str(args.prompts)]
    subprocess.run([sys.executable, "-m", "headstart", "bench", args.model, *options], check=True, stdout=subprocess.DEVNULL)
    return read_result(output)


def cost_of_measuring(args: argparse.Namespace) -> dict[str, Any]:
    llm = headstart.load(args.model, heads=args.heads, dtype=args.dtype)
    if llm.tokenizer is None or llm.heads is None:
        raise SystemExit("the benchmark needs heads and a tokenizer")
    # a stated size of trees: the automatic one learns from the engine's clock
    way = OurWay(llm, about(f"{llm.drafter}@{llm.heads.nodes}", llm))
    prompts = [question.ids(llm.tokenizer, ()) for question in read_questions(args.prompts, limit=args.limit, turns=1)]
    given = {"max_new_tokens": args.max_new_tokens, "temperature": 0.0, "seeds": [args.seed]}

    def timed(prompt: Sequence[int]) -> float:
        began = time.perf_counter()
        way.decode([prompt], **given)
        return time.perf_counter() - began

    def untimed(prompt: Sequence[int]) -> float:
        with no_clock():
            began = time.perf_counter()
            bare(llm, way.requests([prompt], **given))
            return time.perf_counter() - began

    ways = {"timed": timed, "untimed": untimed}
    for decode in ways.values():  # warm up
        decode(prompts[0])
    ratios = []
    for number in range(args.rounds):
        for i, prompt in enumerate(prompts):
            order = list(ways) if (i + number) % 2 else list(ways)[::-1]
            seconds = {name: ways[name](prompt) for name in order}
            ratios.append(seconds["timed"] / seconds["untimed"])
        progress(f"measuring, round {number + 1}/{args.rounds}: {spread(ratios)['median']}")
    interval = median_interval(ratios)
    assert interval is not None
    return {
        "timed_over_untimed": {key: round(value, 4) for key, value in interval.to_dict().items()},
        "quartiles": spread(ratios),
        "below": 1 + MEASURING,
        "holds": interval.estimate < 1 + MEASURING,
        "surely": interval.high < 1 + MEASURING,
    }


def bare(llm: headstart.LLM, requests: Sequence[Request]) -> None:
    """What the bench does with a batch, but for the timing."""
    outputs = {llm.engine.add(request): TextOutput(llm.tokenizer, (), 0) for request in requests}
    while llm.engine.has_work:
        for event in llm.engine.step():
            if event.error is not None:
                raise event.error
            outputs[event.number].push(event.token_ids, last=event.finish_reason is not None, ended_by=event.ended_by)


class NoClock:
    """Takes the place of the engine's clock and reads nothing."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def lap(self, phase: str) -> None:
        pass

    def charge(self, stats: Stats) -> None:
        pass


@contextmanager
def no_clock() -> Iterator[None]:
    kept = engine_module.Clock
    engine_module.Clock = NoClock  # type: ignore[assignment,misc]  # it does what the engine asks of a clock
    try:
        yield
    finally:
        engine_module.Clock = kept  # type: ignore[misc]


if __name__ == "__main__":
    main()
