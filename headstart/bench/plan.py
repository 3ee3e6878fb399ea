"""What is run: which contestants, how many texts at once, at which temperatures, how long."""

import hashlib
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headstart.bench.questions import Question
from headstart.errors import InvalidParameterError


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that decides about the texts and how they are counted.

    Raises:
        InvalidParameterError: a value is outside its range.
    """

    contestants: tuple[str, ...]
    """The subject, whose use is judged, first; see ``contestants.py`` for the names. Plain decoding is always among them."""
    rows: tuple[int, ...] = (1,)
    """Numbers of texts decoded at once."""
    temperatures: tuple[float, ...] = (0.0,)
    max_new_tokens: int = 128
    seed: int = 0
    repeat_every: int = 4
    """Of so many batches one is decoded plainly a second time, to see how far the machine agrees with itself; 0 never."""

    def __post_init__(self) -> None:
        if not self.rows or min(self.rows) < 1:
            raise InvalidParameterError(f"batch is {list(self.rows)}; expected numbers of texts from 1, for instance 1,2,4,8")
        if not self.temperatures or not all(0 <= temperature < math.inf for temperature in self.temperatures):
            raise InvalidParameterError(f"temperature is {list(self.temperatures)}; expected numbers from 0, for instance 0,1")
        if self.max_new_tokens < 2:
            raise InvalidParameterError(f"max_new_tokens is {self.max_new_tokens}; expected at least 2, or there is no step")
        if self.repeat_every < 0:
            raise InvalidParameterError(f"repeat_every is {self.repeat_every}; expected at least 0")
        twice = [name for name in self.contestants if self.contestants.count(name) > 1]
        if twice:
            raise InvalidParameterError(f"{twice[0]} is named {len(twice)} times; name each contestant once")

    @property
    def subject(self) -> str:
        return self.contestants[0]

    @property
    def settings(self) -> list["Setting"]:
        """Fewest texts at once first."""
        return [Setting(temperature, rows) for temperature in self.temperatures for rows in sorted(set(self.rows))]

    def units(self, setting: "Setting", questions: Sequence[Question]) -> Iterator["Unit"]:
        """The work of a setting, in order: each question's turns one after the other, or batches of first turns.

        Questions that fill no batch are left out.
        """
        rows = setting.rows
        for number in range(len(questions) // rows):
            group = range(number * rows, (number + 1) * rows)
            for turn in range(questions[number].turns if rows == 1 else 1):
                yield Unit(setting, number, tuple(group), turn)

    def repeats(self, unit: "Unit") -> bool:
        """Whether plain decoding has a second turn in it."""
        return bool(self.repeat_every) and unit.number % self.repeat_every == 0

    def to_dict(self) -> dict[str, Any]:
        return {
            "contestants": list(self.contestants),
            "batch": sorted(set(self.rows)),
            "temperatures": list(self.temperatures),
            "max_new_tokens": self.max_new_tokens,
            "seed": self.seed,
            "repeat_every": self.repeat_every,
        }


@dataclass(frozen=True)
class Setting:
    """Runs that may be compared with each other."""

    temperature: float
    rows: int

    @property
    def label(self) -> str:
        return f"batch {self.rows}, temperature {self.temperature:g}"


@dataclass(frozen=True)
class Unit:
    """What all contestants decode before the next comes: one batch."""

    setting: Setting
    number: int
    questions: tuple[int, ...]
    """Their places in the list of questions."""
    turn: int

    @property
    def key(self) -> str:
        return f"t{self.setting.temperature:g} b{self.setting.rows} {self.number}.{self.turn}"


def mark_of(questions: Sequence[Question]) -> str:
    """Tells sets of questions apart."""
    content = [[q.key, q.category, [dict(m) for m in q.prompt.messages], q.prompt.text, list(q.follow_ups)] for q in questions]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
