"""Tasks whose answers can be judged, before and after training."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headstart.llm import LLM

Marks = Mapping[str, bool]
"""By a task's key: whether the answer was right."""
Judge = Callable[[LLM], Mapping[str, Marks]]
"""Has a model do tasks; marks by kind of task."""


@dataclass(frozen=True)
class Solved:
    """How many tasks of a kind were solved."""

    tasks: int
    before: int
    after: int
    gained: int
    """Solved after training alone."""
    lost: int
    """Solved before training alone."""

    @property
    def line(self) -> str:
        return f"{self.after} of {self.tasks} tasks solved, {self.before} before ({self.gained} gained, {self.lost} lost)"


def compared(before: Mapping[str, Marks], after: Mapping[str, Marks]) -> dict[str, Solved]:
    """By kind of task, over the tasks that both models were given."""
    found = {}
    for kind in before:
        pairs = [(right, after[kind][key]) for key, right in before[kind].items() if key in after.get(kind, {})]
        if pairs:
            found[kind] = Solved(
                tasks=len(pairs),
                before=sum(mine for mine, _ in pairs),
                after=sum(now for _, now in pairs),
                gained=sum(now and not mine for mine, now in pairs),
                lost=sum(mine and not now for mine, now in pairs),
            )
    return found
