"""Spec-Bench's own table: its subtasks, its mean accepted tokens and its speed-up (Xia et al. 2024)."""

import statistics
from collections.abc import Sequence
from typing import Any

from headstart.bench.contestants import PLAIN
from headstart.bench.samples import Sample

_MT_BENCH = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")
SUBTASKS: dict[str, tuple[str, ...]] = {
    "multi-turn": _MT_BENCH,
    "translation": ("translation",),
    "summarization": ("summarization",),
    "qa": ("qa",),
    "math reasoning": ("math_reasoning",),
    "rag": ("rag",),
}
OVERALL = "overall"


def spec_bench(samples: Sequence[Sample], names: Sequence[str]) -> dict[str, dict[str, Any]] | None:
    """By subtask and contestant; None for questions that are not Spec-Bench's.

    Speeds are from end to end and the speed-up is a ratio of mean speeds, as Spec-Bench counts; accepted tokens hold the model's
    own, so that plain decoding accepts 1.
    """
    known = {category for group in SUBTASKS.values() for category in group}
    if not samples or not all(sample.category in known for sample in samples):
        return None
    found: dict[str, dict[str, Any]] = {}
    for subtask, categories in {**SUBTASKS, OVERALL: tuple(known)}.items():
        mine = [sample for sample in samples if sample.category in categories]
        if mine:
            found[subtask] = {name: _row(mine, name) for name in names if all(name in sample.runs for sample in mine)}
    return found


def _row(samples: Sequence[Sample], name: str) -> dict[str, Any]:
    texts = [text for sample in samples for run in sample.runs[name] for text in run.texts if text.steps]
    speed = statistics.fmean(sample.whole_rate(name) for sample in samples)
    return {
        "questions": len(samples),
        "mean_accepted": sum(len(t.ids) - 1 for t in texts) / sum(t.steps for t in texts) if texts else None,
        "tokens_per_second": speed,
        "speedup": speed / statistics.fmean(sample.whole_rate(PLAIN) for sample in samples),
    }
