"""What is run, and in which pieces."""

from typing import Any

import pytest

from headstart.bench.plan import Plan, mark_of
from headstart.errors import InvalidParameterError
from tests.bench.made_up import question


def test_units() -> None:
    """Alone, every question has its turns; together, first turns alone, and the fifth question fills no batch."""
    plan = Plan(contestants=("plain",), rows=(2, 1), temperatures=(0.0, 1.0))
    questions = [question("a", "qa", "and?"), *(question(key) for key in "bcde")]
    assert [setting.label for setting in plan.settings] == [
        "batch 1, temperature 0", "batch 2, temperature 0", "batch 1, temperature 1", "batch 2, temperature 1",
    ]  # fmt: skip
    alone, together = ([(u.key, u.questions) for u in plan.units(setting, questions)] for setting in plan.settings[:2])
    assert alone == [("t0 b1 0.0", (0,)), ("t0 b1 0.1", (0,)), ("t0 b1 1.0", (1,)), ("t0 b1 2.0", (2,)), ("t0 b1 3.0", (3,)),
                     ("t0 b1 4.0", (4,))]  # fmt: skip
    assert together == [("t0 b2 0.0", (0, 1)), ("t0 b2 1.0", (2, 3))]


def test_repeats() -> None:
    plan, never = Plan(contestants=("plain",), repeat_every=3), Plan(contestants=("plain",), repeat_every=0)
    units = list(plan.units(plan.settings[0], [question(str(i)) for i in range(5)]))
    assert [plan.repeats(unit) for unit in units] == [True, False, False, True, False]
    assert not any(never.repeats(unit) for unit in units)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": ()}, "expected numbers of texts"),
        ({"rows": (0,)}, "expected numbers of texts"),
        ({"temperatures": (-1.0,)}, "expected numbers from 0"),
        ({"max_new_tokens": 1}, "there is no step"),
        ({"repeat_every": -1}, "repeat_every is -1"),
        ({"contestants": ("plain", "plain")}, "plain is named 2 times"),
    ],
)
def test_mistakes(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Plan(**{"contestants": ("plain",), **changes})


def test_sets_of_questions_are_told_apart() -> None:
    one, other = [question("a"), question("b")], [question("a"), question("b", "qa", "more")]
    assert mark_of(one) == mark_of([question("a"), question("b")])
    assert mark_of(one) != mark_of(other)
