"""Speed-ups by a rule of thumb: the documents' worked numbers."""

import pytest

from headstart.errors import InvalidParameterError
from headstart.tuning.step_cost import StepCost


@pytest.mark.parametrize(
    ("tokens", "overhead", "speedup"),
    [
        (2.65, 0.1, 2.4),  # the lesson: a pass that is 10 % slower
        (3.0, 3 / 20, 2.61),  # the article: L = 3, 20 ms, 3 ms of overhead: 3 * 20 / 23
        (2.5, 0.0, 2.5),  # and L = 2.5 without any
    ],
)
def test_the_documents_numbers(tokens: float, overhead: float, speedup: float) -> None:
    assert StepCost(overhead=overhead).speedup(tokens) == pytest.approx(speedup, abs=0.011)


def test_the_root_costs_nothing_more() -> None:
    """Plain decoding is the unit; nine further nodes at 2 % each and 10 % of overhead are 1.28 passes."""
    cost = StepCost(per_node=0.02, overhead=0.1)
    assert StepCost(per_node=0.02).of(1) == 1.0
    assert cost.of(10) == pytest.approx(1.28)


def test_levels() -> None:
    """A draft model that takes a tenth of a pass, three times: 1.3."""
    assert StepCost(per_level=0.1).of(4, 3) == pytest.approx(1.3)


@pytest.mark.parametrize("cost", [-0.1, float("nan"), float("inf")])
@pytest.mark.parametrize("name", ["per_node", "overhead", "per_level"])
def test_what_is_no_cost(name: str, cost: float) -> None:
    with pytest.raises(InvalidParameterError, match=f"costs of .*{cost} a .*; expected numbers from 0 on"):
        StepCost(**{name: cost})
