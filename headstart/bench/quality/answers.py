"""Who has answered what, side by side."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headstart.bench.contestants import AGAIN
from headstart.bench.journal import Entry
from headstart.bench.plan import Plan, Setting, Unit
from headstart.bench.questions import Question


@dataclass(frozen=True)
class Answer:
    """The answer to one turn of a question, with all that came before it."""

    question: str
    """The question's key."""
    prompt: tuple[int, ...]
    ids: tuple[int, ...]


Place = tuple[str, int]
"""A unit of the plan and the row in its batch."""


def answers_of(
    entries: Mapping[str, Entry],
    plan: Plan,
    setting: Setting,
    questions: Sequence[Question],
    prompts: Callable[[Unit], Sequence[Sequence[int]] | str],
) -> dict[str, dict[Place, Answer]]:
    """By contestant and place, in the order of the plan.

    ``prompts`` gives the ids of a unit's prompts, or why there are none.
    """
    found: dict[str, dict[Place, Answer]] = {}
    for unit in plan.units(setting, questions):
        entry = entries.get(unit.key)
        if entry is None or entry.skipped:
            continue
        asked = prompts(unit)
        assert not isinstance(asked, str), "what was decoded has a prompt"
        for name, run in entry.runs.items():
            if name != AGAIN:
                mine = found.setdefault(name, {})
                for row, (ids, text) in enumerate(zip(asked, run.texts, strict=True)):
                    mine[unit.key, row] = Answer(entry.prompts[row], tuple(ids), tuple(text.ids))
    return found


def paired(mine: Mapping[Place, Answer], base: Mapping[Place, Answer]) -> list[tuple[Answer, Answer]]:
    """Answers to what both were asked in the same words."""
    both = [(answer, base[place]) for place, answer in mine.items() if place in base]
    return [(answer, other) for answer, other in both if answer.prompt == other.prompt]
