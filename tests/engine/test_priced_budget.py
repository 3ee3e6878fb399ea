"""What a node costs, learned from steps of many sizes."""

import random

import pytest

from headstart.engine.priced_budget import FIRST_PRICE, PricedBudget


def taught(price: float, steps: int, *, rows: int = 1, scale: float = 0.03, noise: float = 0.0) -> PricedBudget:
    """A machine on which a pass takes ``scale`` seconds and ``price`` of that more for each node beyond the root."""
    budget, draw = PricedBudget(12), random.Random(0)
    for _ in range(steps):
        width = draw.choice([1, 1, 1, 2, 3, 5, 8, 12])
        seconds = scale * (1 + price * (width - 1)) * draw.uniform(1 - noise, 1 + noise)
        budget.observe(rows, 12, [0] * rows, seconds, width)
    return budget


def test_at_first_something_common_is_believed() -> None:
    budget = PricedBudget(12)
    assert (budget.sizes, budget.nodes(1), budget.nodes(9), budget.price(1)) == ((12,), 12, 12, FIRST_PRICE)


@pytest.mark.parametrize("scale", [1e-3, 0.5])
@pytest.mark.parametrize("price", [0.005, 0.02, 0.08, 0.2])
def test_it_finds_the_price(price: float, scale: float) -> None:
    assert taught(price, 200, scale=scale).price(1) == pytest.approx(price, rel=0.15, abs=0.003)
    assert taught(price, 200, scale=scale, noise=0.1).price(1) == pytest.approx(price, rel=0.3, abs=0.01)


def test_after_a_few_steps_it_is_on_its_way() -> None:
    assert FIRST_PRICE < taught(0.2, 8).price(1) <= 0.2


def test_a_step_that_was_held_up_says_little() -> None:
    budget = taught(0.02, 100)
    budget.observe(1, 12, [0], 3.0, 12)  # a hundred times as long
    assert budget.price(1) < 0.06


def test_numbers_of_rows_have_prices_of_their_own() -> None:
    budget = taught(0.1, 200, rows=8)
    assert budget.price(8) > 0.08
    assert budget.price(9) == budget.price(8)  # that takes alike
    assert budget.price(1) == FIRST_PRICE


def test_sizes_that_never_differ_say_nothing() -> None:
    budget = PricedBudget(12)
    for _ in range(50):
        budget.observe(1, 12, [0], 0.5, 1)
    assert budget.price(1) == pytest.approx(FIRST_PRICE)
    budget.observe(1, 12, [0], 0.0, 1)  # a clock that reads nothing
    assert budget.price(1) == pytest.approx(FIRST_PRICE)
