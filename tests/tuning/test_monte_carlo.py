"""Random steps: the lesson's printed numbers by its own seed, and agreement with the arithmetic."""

from random import Random

import pytest

from headstart.trees.search import expected_tokens, grow
from headstart.trees.shape import TreeShape
from headstart.tuning.chances import chances_of
from headstart.tuning.monte_carlo import drawn_tokens
from headstart.tuning.step_cost import StepCost

LESSON = [[0.60, 0.75, 0.85], [0.40, 0.55, 0.65], [0.25, 0.36, 0.45]]


@pytest.mark.parametrize(
    ("heads", "cost", "printed"),
    [
        # what the lesson prints, and what its script prints after each of its three changes
        (3, 0.02, [(3, "1.90", "1.80"), (14, "2.30", "1.80"), (39, "2.66", "1.49")]),
        (3, 0.005, [(3, "1.90", "1.87"), (14, "2.30", "2.15"), (39, "2.66", "2.22")]),
        (3, 0.1, [(3, "1.90", "1.46"), (14, "2.30", "0.96"), (39, "2.66", "0.54")]),
        (2, 0.02, [(2, "1.84", "1.77"), (6, "2.16", "1.93"), (12, "2.40", "1.94")]),
    ],
)
def test_the_lessons_practice(heads: int, cost: float, printed: list[tuple[int, str, str]]) -> None:
    """Seed 1, 20,000 steps, one tree after another from the same numbers; its node counts leave out the root."""
    random, chances = Random(1), chances_of(LESSON[:heads])
    found = []
    for width in (1, 2, 3):
        shape = TreeShape.full([width] * heads)
        tokens, _ = drawn_tokens(shape, chances, 20_000, random)
        found.append((len(shape) - 1, f"{tokens:.2f}", f"{StepCost(per_node=cost).speedup(tokens, len(shape)):.2f}"))
    assert found == printed


def test_it_agrees_with_the_arithmetic() -> None:
    """A sparse tree; 5 standard errors apart would happen once in two million seeds."""
    chances = chances_of(LESSON)
    shape = grow(chances, 11)
    tokens, error = drawn_tokens(shape, chances, 20_000, Random(2))
    assert 0 < error < 0.01
    assert abs(tokens - expected_tokens(shape, chances, 1)) < 5 * error


def test_sure_heads_and_useless_ones() -> None:
    """Always right: the whole chain and one more, without spread. Never right: one token."""
    assert drawn_tokens(TreeShape.chain(2), chances_of([[1.0], [1.0]]), 50, Random(0)) == (3.0, 0.0)
    assert drawn_tokens(TreeShape.chain(2), chances_of([[0.0], [1.0]]), 50, Random(0)) == (1.0, 0.0)


def test_paths_that_were_never_counted() -> None:
    """Of the root's guesses only the third one is known: it is drawn with its own chance."""
    tokens, error = drawn_tokens(TreeShape([[2]]), {(2,): 0.5}, 10_000, Random(3))
    assert abs(tokens - 1.5) < 5 * error
