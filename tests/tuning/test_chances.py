"""Chances of rank paths from accuracies and counts."""

import pytest

from headstart.errors import InvalidParameterError
from headstart.trees.search import expected_tokens, grow
from headstart.trees.shape import TreeShape
from headstart.tuning.chances import chances_of, counted, with_another_head

LESSON = [[0.60, 0.75, 0.85], [0.40, 0.55, 0.65], [0.25, 0.36, 0.45]]


@pytest.mark.parametrize(
    ("accuracies", "tokens"),
    [
        ([0.60, 0.40, 0.25], 1.90),  # the lesson's chain: 1 + .6 + .24 + .06
        ([0.85, 0.65, 0.45], 2.65),  # its tree of three guesses each, as one guess of that accuracy: 1 + .85 + .5525 + .2486
        ([0.8] * 4, 1 + 2.36),  # the article's p + p^2 + p^3 + p^4, and the token that is sure
        ([0.7] * 3, 2.533),  # the note's 70 %, which it rounds to 2.55 on the way
        ([0.8] * 3, 2.952),  # and its 80 %
    ],
)
def test_chains_of_the_documents(accuracies: list[float], tokens: float) -> None:
    chances = chances_of([[accuracy] for accuracy in accuracies])
    assert expected_tokens(TreeShape.chain(len(accuracies)), chances, 1) == pytest.approx(tokens, abs=0.002)


@pytest.mark.parametrize(("width", "nodes", "tokens"), [(1, 3, 1.90), (2, 14, 2.30), (3, 39, 2.66)])
def test_the_lessons_full_trees(width: int, nodes: int, tokens: float) -> None:
    """Its nodes leave out the root; its tokens are drawn at random, ours are 1 + a + ab + abc."""
    shape = TreeShape.full([width] * 3)
    assert len(shape) == nodes + 1
    assert expected_tokens(shape, chances_of(LESSON), 1) == pytest.approx(tokens, abs=0.0111)  # 2.311 is the farthest


def test_a_fourth_head_gains_hardly_anything() -> None:
    """0.6 * 0.4 * 0.25 * 0.1 = 0.006 tokens per step."""
    more = with_another_head(chances_of(LESSON), [0.1])
    assert expected_tokens(TreeShape.chain(4), more, 1) - expected_tokens(TreeShape.chain(3), more, 1) == pytest.approx(0.006)


def test_the_best_tree_takes_the_likeliest_paths() -> None:
    """0.6, then 0.6 * 0.4 = 0.24, then head 1's second guess, 0.15: 1.99 in all."""
    chances = chances_of(LESSON)
    shape = grow(chances, 4)
    assert shape.paths == ((0,), (0, 0), (1,))
    assert expected_tokens(shape, chances, 1) == pytest.approx(1.99)


def test_counts_are_shares_of_the_positions() -> None:
    assert counted({(0,): 3, (0, 1): 1}, 4) == {(0,): 0.75, (0, 1): 0.25}


@pytest.mark.parametrize(
    ("accuracies", "message"),
    [
        ([], "no heads; expected"),
        ([[]], r"head 1 has the accuracies \[\]; expected"),
        ([[0.5], [0.6, 0.5]], "head 2 has the accuracies .* that do not fall"),
        ([[1.2]], "numbers from 0 to 1"),
        ([[-0.1]], "numbers from 0 to 1"),
        ([[float("nan")]], "numbers from 0 to 1"),
        ([[0.6, float("nan"), 0.85]], "numbers from 0 to 1"),
        ([[0.05 * (i + 1) for i in range(20)]] * 5, "the first 5 heads have .* paths; expected at most 200,000"),
    ],
)
def test_what_is_no_accuracy(accuracies: list[list[float]], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        chances_of(accuracies)
