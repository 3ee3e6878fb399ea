"""From what was measured to one result. A pure function of it: the same runs make the same result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headstart.bench.acceptance import acceptance
from headstart.bench.contestants import PLAIN, About
from headstart.bench.cost import cost, stops_paying
from headstart.bench.equality import equality, same_in_batches
from headstart.bench.journal import Entry
from headstart.bench.latency import latency
from headstart.bench.noise import noise
from headstart.bench.overhead import overhead
from headstart.bench.plan import Plan, Setting
from headstart.bench.quality.survey import NOTHING
from headstart.bench.questions import Question
from headstart.bench.result import DIGITS, SCHEMA_VERSION
from headstart.bench.samples import Sample, entries_of, samples_of
from headstart.bench.spec_bench import spec_bench
from headstart.bench.split import StepSplit
from headstart.bench.verdict import verdict
from headstart.finite import finite


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Everything that a result is made of."""

    plan: Plan
    who: Sequence[About]
    questions: Sequence[Question]
    entries: Mapping[str, Entry]
    environment: Mapping[str, Any]
    splits: Mapping[str, StepSplit] = field(default_factory=dict)
    """By contestant, for the smallest batch."""
    tree: Mapping[str, Any] | None = None
    """Of the heads: ``parent``, and ``share``, how often the truth lay on a node."""
    price_per_hour: float | None = None
    quality: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    """What :func:`headstart.bench.quality.survey.survey` found."""


def assemble(measured: Measured) -> dict[str, Any]:
    """The result, ready to be written; ``docs/bench.md`` describes it."""
    plan, names = measured.plan, [each.name for each in measured.who]
    entries = {s: entries_of(dict(measured.entries), plan, s, measured.questions) for s in plan.settings}
    samples = {setting: samples_of(found, measured.questions) for setting, found in entries.items()}
    smallest = {s.temperature: s for s in reversed(plan.settings)}

    def table(measure: Callable[[Setting, str], Any]) -> list[dict[str, Any]]:
        return [
            {**_head(setting), "contestants": {n: found for n in names if (found := measure(setting, n)) is not None}}
            for setting in plan.settings
        ]

    noises = {setting: noise(samples[setting]) for setting in plan.settings}
    apart = {setting: found["median_difference"] or 0.0 for setting, found in noises.items()}
    costs = table(lambda s, n: cost(samples[s], n, measured.price_per_hour, apart[s]))
    speeds = table(lambda s, n: latency(samples[s], n, apart[s]))
    for setting, row in zip(plan.settings, speeds, strict=True):
        row["noise"] = noises[setting]
        row["left_out"] = _left_out(entries[setting], samples[setting])
    result: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "latency": {"settings": speeds, "spec_bench": spec_bench(samples[plan.settings[0]], names)},
        "acceptance": {"settings": table(lambda s, n: acceptance(samples[s], n)), "tree": measured.tree},
        "overhead": {
            "settings": table(lambda s, n: overhead(samples[s], n, measured.splits.get(n) if s == plan.settings[0] else None))
        },
        "cost": {
            "price_per_hour": measured.price_per_hour,
            "settings": costs,
            "stops_paying": [_paying(temperature, costs, names) for temperature in plan.temperatures],
        },
        "quality": {
            "equality": [
                {
                    **_head(setting),
                    "contestants": equality(entries[setting], measured.who, sampled=setting.temperature > 0),
                    "same_in_batches": same_in_batches(entries[smallest[setting.temperature]], entries[setting]),
                }
                for setting in plan.settings
            ],
            **measured.quality,
        },
        "environment": {
            **measured.environment,
            "plan": plan.to_dict(),
            "contestants": {each.name: each.to_dict() for each in measured.who},
            "questions": len(measured.questions),
        },
    }
    result["verdict"] = verdict(result)
    return finite(result, DIGITS)  # type: ignore[no-any-return]  # a dict stays one


def _head(setting: Setting) -> dict[str, Any]:
    return {"label": setting.label, "temperature": setting.temperature, "batch": setting.rows}


def _left_out(entries: Sequence[Entry], samples: Sequence[Sample]) -> dict[str, Any]:
    """Batches that could not be decoded, and those whose texts were too short to time."""
    ran = {tuple(entry.prompts) for entry in entries if not entry.skipped}
    return {
        "skipped": sum(bool(entry.skipped) for entry in entries),
        "reasons": sorted({entry.skipped for entry in entries if entry.skipped})[:3],
        "too_short": len(ran) - len(samples),
    }


def _paying(temperature: float, costs: Sequence[Mapping[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    rows = [row for row in costs if row["temperature"] == temperature]
    return {
        "temperature": temperature,
        "contestants": {
            name: stops_paying(
                {row["batch"]: 1 / row["contestants"][name]["of_plain"] for row in rows if name in row["contestants"]}
            )
            for name in names
            if name != PLAIN and any(name in row["contestants"] for row in rows)
        },
    }
