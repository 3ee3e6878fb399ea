"""The tables of the quality part."""

from collections.abc import Mapping
from typing import Any

from headstart.bench.quality.asked import AGREEMENT, CODE, EXACT_MATCH, PERPLEXITY
from headstart.bench.table import Table

_NONE = ""


def quality_tables(quality: Mapping[str, Any]) -> list[Table]:
    """``quality`` is that section of a result."""
    base = quality.get("base", "")
    answers = [_answers(row, base) for row in quality.get("answers", ())]
    tasks = [_tasks(row, base) for row in quality.get("tasks", ())]
    categories = [_categories(row) for row in quality.get("tasks", ())[:1]]
    return [*answers, *tasks, *categories]


def _answers(setting: Mapping[str, Any], base: str) -> Table:
    rows = []
    for name, found in setting["contestants"].items():
        likely, agree = found.get(PERPLEXITY), found.get(AGREEMENT)
        cells = [name, str(found["texts"])]
        cells += [_NONE, _NONE] if likely is None else [_number(likely["perplexity"]), _ratio(likely["of_base"], name == base)]
        cells += [_NONE] * 3 if agree is None else [_percent(agree[key]) for key in ("first_choice", "identical", "common")]
        rows.append(tuple(cells))
    headings = ("", "answers", "perplexity", f"to {base}", "first choice", "identical", "before they part")
    note = (
        f"Perplexity: under the model of {base}, and its ratio to that of the answers of {base}. First choice: tokens that this"
        f" model finds likeliest at their place. Identical: answers that are those of {base}; before they part: the share of its"
        " answers that is written word for word. In brackets 95 % intervals."
    )
    return Table(f"What the base model thinks of the answers, {setting['label']}", headings, rows, note)


def _tasks(setting: Mapping[str, Any], base: str) -> Table:
    kinds = [kind for kind in (EXACT_MATCH, CODE) if any(kind in found for found in setting["contestants"].values())]
    headings = [heading for kind in kinds for heading in (kind, f"more than {base}", "gained, lost")]
    rows = []
    for name, found in setting["contestants"].items():
        cells = [name]
        for kind in kinds:
            cells += [_NONE] * 3 if kind not in found else _score(found[kind], name == base)
        rows.append(tuple(cells))
    note = "Right answers; in brackets 95 % intervals (Wilson's; of differences, in points, Agresti and Min's)."
    return Table(f"Tasks, {setting['label']}", ("", *headings), rows, note)


def _score(found: Mapping[str, Any], is_base: bool) -> list[str]:
    right, more = found["right"], found["more_than_base"]
    if right is None:
        return [_NONE] * 3
    counted = f"{round(right['estimate'] * right['n'])} of {right['n']} ({right['low']:.0%} to {right['high']:.0%})"
    if is_base or more is None:
        return [counted, _NONE, _NONE]
    return [counted, points(more), f"{found['gained']}, {found['lost']}"]


def _categories(setting: Mapping[str, Any]) -> Table:
    contestants = {name: found.get(EXACT_MATCH, {}).get("by_category", {}) for name, found in setting["contestants"].items()}
    names = list(dict.fromkeys(category for found in contestants.values() for category in found))
    rows = [
        (name, *(f"{found[name][0]} of {found[name][1]}" if name in found else _NONE for found in contestants.values()))
        for name in names
    ]
    return Table(f"Right answers by category, {setting['label']}", ("", *contestants), rows if len(rows) > 1 else [])


def _number(interval: Mapping[str, float] | None) -> str:
    return _NONE if interval is None else f"{interval['estimate']:.3g} ({interval['low']:.3g} to {interval['high']:.3g})"


def _ratio(interval: Mapping[str, float] | None, is_base: bool) -> str:
    return _NONE if interval is None or is_base else f"{interval['estimate']:.3f} ({interval['low']:.3f} to {interval['high']:.3f})"


def _percent(interval: Mapping[str, float] | None) -> str:
    if interval is None:
        return _NONE
    return f"{interval['estimate']:.1%} ({interval['low']:.0%} to {interval['high']:.0%})"


def points(interval: Mapping[str, float]) -> str:
    """``+2.5 (-1 to +6)``."""
    return f"{interval['estimate'] * 100:+.1f} ({interval['low'] * 100:+.0f} to {interval['high'] * 100:+.0f})"
