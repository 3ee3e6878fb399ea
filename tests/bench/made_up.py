"""Runs, samples and results with numbers that can be worked out by hand."""

from collections.abc import Mapping, Sequence
from typing import Any

from headstart.bench.assembly import Measured, assemble
from headstart.bench.contestants import AGAIN, About
from headstart.bench.journal import Entry
from headstart.bench.plan import Plan
from headstart.bench.questions import Question
from headstart.bench.run import Run, Text
from headstart.bench.samples import Sample
from headstart.tuning.prompts import Prompt

PLAIN = About(name="plain", ours=True, drafter="none")
MEDUSA = About(name="medusa", ours=True, drafter="medusa")
THEIRS = About(name="transformers", ours=False, drafter="")


def run(ids: Sequence[int], decode: float, *, prefill: float = 1.0, accepted: Sequence[int] = (), steps: int | None = None) -> Run:
    """One text: ``decode`` seconds after the prompt's ``prefill``; a step takes its share of them.

    Of ``decode``, half is the pass, a quarter drafting, and an eighth acceptance and commit each.
    """
    passes = len(ids) - 1 if steps is None else steps
    text = Text(
        ids=list(ids),
        prompt_tokens=10,
        first=prefill,
        last=prefill + decode,
        steps=passes,
        proposed=3 * passes if accepted else 0,
        accepted_per_depth=list(accepted),
    )
    phases = {"draft": decode / 4, "verify": decode / 2, "accept": decode / 8, "commit": decode / 8, "text": 0.0, "outside": 0.0}
    return Run(
        texts=[text], seconds=prefill + decode, prefill=prefill, gaps=[decode / passes] * passes, passes=passes, phases=phases
    )


def sample(key: str, runs: Mapping[str, Run], category: str = "qa") -> Sample:
    return Sample(key, category, {name: [each] for name, each in runs.items()})


def question(key: str, category: str = "qa", *follow_ups: str) -> Question:
    return Question(key=key, category=category, prompt=Prompt(messages=({"role": "user", "content": key},)), follow_ups=follow_ups)


def made_up_result(
    speedups: Sequence[float] = (2.0,) * 10,
    *,
    batches: Mapping[int, float] | None = None,
    again: float = 1.0,
    ids: Sequence[int] = (1, 2, 3, 4, 5),
    margins: Mapping[str, list[float | None]] | None = None,
    environment: Mapping[str, Any] | None = None,
    price: float | None = None,
) -> dict[str, Any]:
    """Ten questions of five tokens unless told otherwise: plain decoding takes 4 s after the prompt's second, a draft step accepts
    one guess, and medusa is so many times faster, question by question; ``batches`` are further batch sizes with theirs.

    Medusa writes ``ids``; where those are others, ``margins`` says how near the ties were.
    """
    questions = [question(str(i), "qa" if i % 2 else "rag") for i in range(len(speedups))]
    factors = dict(batches or {})
    plan = Plan(contestants=("medusa", "plain", "transformers"), rows=(1, *factors), repeat_every=1)
    entries = {}
    for setting in plan.settings:
        for unit in plan.units(setting, questions):
            factor = speedups[unit.number] if setting.rows == 1 else factors[setting.rows]
            plain = run([1, 2, 3, 4, 5], 4.0)
            runs = {
                "plain": plain,
                AGAIN: run([1, 2, 3, 4, 5], 4.0 / again),
                "medusa": run(ids, 4.0 / factor, accepted=[2], steps=2),
                "transformers": run([1, 2, 3, 4, 6], 8.0),
            }
            if setting.rows > 1:
                runs = {name: wide(each, setting.rows) for name, each in runs.items()}
            keys = [questions[i].key for i in unit.questions]
            entries[unit.key] = Entry(unit=unit.key, prompts=keys, runs=runs, margins=dict(margins or {}))
    return assemble(
        Measured(
            plan=plan,
            who=[MEDUSA, PLAIN, THEIRS],
            questions=questions,
            entries=entries,
            environment={"model": "made up", "dtype": "bfloat16", "clock_seconds": 1e-6, **(environment or {})},
            price_per_hour=price,
        )
    )


def wide(one: Run, rows: int) -> Run:
    """The same for a batch of equal texts."""
    return Run(**{**vars(one), "texts": one.texts * rows, "gaps": one.gaps * rows})
