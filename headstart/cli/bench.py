"""``headstart bench``: how much faster a model writes with its heads, here and on these prompts, and whether to use them."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cyclopts import Parameter

from headstart.cli.options import ModelOptions
from headstart.cli.report import to_json
from headstart.errors import DataError, InvalidParameterError
from headstart.ranges import check_above_zero, check_least

if TYPE_CHECKING:
    from headstart.bench.bar import Bar
    from headstart.llm import LLM

COMPARE = "compare"
_LINE_EVERY = 20.0  # seconds


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class BenchFlags:
    """What to measure and for how long."""

    against: str = "transformers,prompt-lookup"
    """Whom to compare with, besides plain decoding: names of drafters ("ngram", "medusa@8" for trees of 8 nodes, "combined+typical"
    for another rule of acceptance), "draft-model:DIR", "transformers" and "prompt-lookup"; "none" for nobody."""
    drafter: str = "auto"
    """The contestant that the verdict is about, named in the same way; "auto" is what loading the model takes."""
    prompts: Path | None = None
    """JSON lines with "turns" (as in Spec-Bench's question.jsonl), "messages", "prompt" or "text" and, if you like, "category"; by
    default a bundled set."""
    batch: str = "1"
    """Numbers of texts decoded at once, for instance 1,2,4,8."""
    temperature: str = "0"
    """Temperatures, for instance 0,1."""
    limit: int | None = None
    """So many questions at most, spread over the file."""
    turns: int | None = None
    """So many turns of a question at most; by default all of them."""
    max_new_tokens: int = 128
    """Tokens to write after each prompt."""
    seed: int = 0
    """What texts above temperature 0 are drawn by."""
    price_per_hour: float | None = None
    """What this machine costs an hour; gives the price of a million tokens."""
    repeat_every: int = 4
    """Of so many batches one is decoded plainly a second time, to see how noisy the machine is; 0 never."""
    quality: str = "auto"
    """What to measure of the answers besides their equality: some of "perplexity", "agreement", "exact-match" and "code" with
    commas between them, "all" or "none". "code" runs what the model writes in a process with limits. "auto" is all of them where an
    answer can be another than the base model's by more than rounding: with lossy rules, or with --base."""
    tasks: Path | None = None
    """JSON lines with a prompt and "reference" or "tests", for "exact-match" and "code"; by default a bundled set."""
    base: str | None = None
    """The model that this one was made from, by training it together with its heads for instance: answers are measured against it.
    It is loaded in the same precision, its weights not rounded."""
    threads: int | None = None
    """CPU threads, transformers' as well; by default torch's number, but no more than there are physical cores."""


def run(
    model: str = "bundled",
    /,
    *files: Path,
    output: Path = Path("headstart-bench"),
    json: bool = False,
    flags: BenchFlags = BenchFlags(),
    options: ModelOptions = ModelOptions(),
) -> int:
    """Decode prompts with heads, plainly and by others, in turn, and say what to make of it.

    The output directory gets result.json, report.html and pictures. A run that was stopped goes on where it was; run it while
    nothing else runs. "headstart bench compare A.json B.json" compares two results.

    Parameters
    ----------
    model
        A model ("bundled", a directory, a hub id, a GGUF file), or "compare".
    files
        After "compare": two results, or the directories that they are in.
    output
        A directory for the results.
    json
        Print one JSON object.
    """
    if model == COMPARE:
        return _compare(files, json=json)
    if files:
        raise InvalidParameterError(f"unexpected {files[0]}; expected one model, or: headstart bench compare A.json B.json")
    _check(flags, output)
    # torch comes with these, and asking for help has to be quick
    from headstart.bench.measure import measure
    from headstart.bench.plan import Plan
    from headstart.bench.quality.asked import Asked
    from headstart.bench.questions import read_questions
    from headstart.models.threads import cpu_threads

    plan = Plan(
        contestants=_contestants(flags),
        rows=tuple(sorted(set(_numbers(flags.batch, "batch", "1,2,4,8")))),
        temperatures=_temperatures(flags.temperature),
        max_new_tokens=flags.max_new_tokens,
        seed=flags.seed,
        repeat_every=flags.repeat_every,
    )
    quality = Asked(kinds=flags.quality, tasks=flags.tasks, base=flags.base)
    questions = read_questions(flags.prompts, limit=flags.limit, turns=flags.turns)
    with cpu_threads(flags.threads) as in_use:
        llm = _load(model, options, plan.contestants, in_use)
        result = measure(
            llm,
            plan,
            questions,
            model=model,
            prompts="bundled" if flags.prompts is None else flags.prompts.name,
            directory=output,
            price_per_hour=flags.price_per_hour,
            bar=_bar,
            quality=quality,
            load_base=_base(flags.base, options, in_use),
        )
    if json:
        print(to_json({"directory": str(output), **result}))
        return 0
    from headstart.cli.bench_page import show  # see above

    show(result)
    print(f"\nwritten to {output / 'report.html'}, result.json and pictures beside it")
    return 0


def _load(model: str, options: ModelOptions, names: tuple[str, ...], threads: int) -> "LLM":
    from headstart.bench.measure import draft_models  # see run

    drafts = draft_models(names)
    if drafts:
        options = replace(options, draft_model=drafts[0])
    return options.load(model, threads=threads)


def _base(base: str | None, options: ModelOptions, threads: int) -> "Callable[[], LLM] | None":
    """Loads it, when it is needed."""
    if base is None:
        return None
    from headstart.models.source import find  # see run

    find(base)  # a mistake is told before everything is decoded
    plain = replace(options, heads="none", draft_model=None, draft_text=False, weights=None)
    return lambda: plain.load(base, drafter="none", threads=threads)


def _compare(files: tuple[Path, ...], *, json: bool) -> int:
    from headstart.bench.compare import compare  # see run
    from headstart.bench.result import read_result

    if len(files) != 2:
        raise InvalidParameterError(f"{len(files)} results to compare; expected two: headstart bench compare A.json B.json")
    found = compare(*(read_result(path) for path in files))
    if json:
        print(to_json(found))
        return 0
    from headstart.cli.bench_page import show_comparison

    show_comparison(found)
    return 0


def _check(flags: BenchFlags, output: Path) -> None:
    """What would otherwise be found out after the model is loaded, or after hours."""
    check_least(flags, 1, "limit", "turns", "threads")
    check_above_zero(flags, "price_per_hour")
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot write to {output}: {error.strerror or error}; give another --output") from error
    if not os.access(output, os.W_OK):
        raise DataError(f"cannot write to {output}: no permission; give another --output")


def _contestants(flags: BenchFlags) -> tuple[str, ...]:
    against = [name.strip() for name in flags.against.split(",") if name.strip()]
    others = [name for name in against if name not in ("none", "plain")]
    return tuple(dict.fromkeys((flags.drafter, "plain", *others)))


def _numbers(text: str, name: str, example: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError as error:
        raise InvalidParameterError(f"{name} is {text!r}; expected whole numbers, for instance {example}") from error


def _temperatures(text: str) -> tuple[float, ...]:
    try:
        return tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError as error:
        raise InvalidParameterError(f"temperature is {text!r}; expected numbers, for instance 0,1") from error


def _bar(total: int, done: int) -> "AbstractContextManager[Bar]":
    if not sys.stderr.isatty():
        return _lines(total, done)
    from headstart.train.progress import Reporter  # see run

    return Reporter(quiet=False).bar("texts", total, done)


@contextmanager
def _lines(total: int, done: int) -> "Iterator[Bar]":
    yield _Lines(total, done)


class _Lines:
    """A bar for where nobody looks: a line now and then."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._before, self._done = total, done, done
        self._began = self._said = time.monotonic()
        if done:
            print(f"{done} of {total} texts were decoded before", file=sys.stderr, flush=True)

    def advance(self, count: int, note: str = "") -> None:
        self._done += count
        now = time.monotonic()
        if now - self._said < _LINE_EVERY and self._done < self._total:
            return
        self._said = now
        line = f"{self._done} of {self._total} texts, {now - self._began:.0f} s so far"
        if self._before < self._done < self._total:
            left = (now - self._began) / (self._done - self._before) * (self._total - self._done)
            line += f", about {left:.0f} s left"
        print(f"{line} ({note})", file=sys.stderr, flush=True)
