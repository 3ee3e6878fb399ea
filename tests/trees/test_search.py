"""The tree search, against all trees there are on small tables."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.errors import TreeError
from headstart.trees.search import expected_tokens, grow
from headstart.trees.shape import Path, TreeShape

# the lesson's practice: how often the truth is a head's first, second and third guess, in hundredths
BY_RANK = [[60, 15, 10], [40, 15, 10], [25, 11, 9]]


def lesson_counts() -> tuple[dict[Path, int], int]:
    """Joint counts of a million positions where each head is right independently of the others, as the lesson assumes."""
    counts: dict[Path, int] = {}
    level: dict[Path, int] = {(): 1_000_000}
    for head in BY_RANK:
        level = {(*path, rank): count * share // 100 for path, count in level.items() for rank, share in enumerate(head)}
        counts.update(level)
    return counts, 1_000_000


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[Path, int], int]:
    """Joint counts as they can be observed: the children of a path share its count, and some of it is nobody's."""
    total = draw(st.integers(1, 60))
    counts: dict[Path, int] = {}
    level: dict[Path, int] = {(): total}
    for _ in range(3):
        below: dict[Path, int] = {}
        for path, count in level.items():
            for rank in range(2):
                below[(*path, rank)] = draw(st.integers(0, count))
                count -= below[(*path, rank)]
        counts.update(below)
        level = below
    return counts, total


def all_trees(paths: list[Path], nodes: int) -> Iterator[frozenset[Path]]:
    """Every tree of at most ``nodes`` nodes, the root included, that these paths can form."""
    seen: set[frozenset[Path]] = {frozenset()}
    level = set(seen)
    yield from seen
    for _ in range(nodes - 1):
        level = {tree | {path} for tree in level for path in paths if path not in tree and (len(path) == 1 or path[:-1] in tree)}
        yield from level


@settings(max_examples=15, deadline=None)
@given(tables(), st.integers(1, 5))
def test_growth_finds_the_best_tree_of_all(table: tuple[dict[Path, int], int], nodes: int) -> None:
    """Brute force over every tree that fits: none is expected to give more tokens per step."""
    counts, total = table
    best = max(sum(counts[path] for path in tree) for tree in all_trees(list(counts), nodes))
    assert expected_tokens(grow(counts, nodes), counts, total) == pytest.approx(1 + best / total, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(tables())
def test_a_smaller_tree_is_a_prefix_of_a_larger_one(table: tuple[dict[Path, int], int]) -> None:
    counts, _ = table
    largest = grow(counts, 20)
    assert set(largest.paths) == {path for path, count in counts.items() if count > 0}  # what was never right is left out
    for nodes in range(1, len(largest) + 1):
        assert grow(counts, nodes) == largest.limited(nodes=nodes)


@settings(max_examples=15, deadline=None)
@given(tables(), st.integers(1, 5), st.integers(1, 3), st.integers(1, 2))
def test_growth_within_limits_is_the_best_within_them(
    table: tuple[dict[Path, int], int], nodes: int, depth: int, width: int
) -> None:
    counts, total = table
    fitting = [path for path in counts if len(path) <= depth and max(path) < width]
    best = max(sum(counts[path] for path in tree) for tree in all_trees(fitting, nodes))
    shape = grow(counts, nodes, max_depth=depth, max_width=width)
    assert shape.depth <= depth
    assert shape.width <= width
    assert expected_tokens(shape, counts, total) == pytest.approx(1 + best / total, abs=1e-12)


def test_ties_go_to_the_shorter_path_and_then_the_lower_rank() -> None:
    counts = {(1,): 5, (0,): 5, (0, 0): 5, (1, 0): 5}
    assert grow(counts, 5).paths == ((0,), (1,), (0, 0), (1, 0))


def test_joint_counts_are_read_and_not_products_of_accuracies() -> None:
    """Head 2's first guess is right 6 times in all, but never after head 1's second: [1, 0] must not be chosen."""
    counts = {(0,): 6, (1,): 4, (0, 0): 6, (0, 1): 0, (1, 0): 0, (1, 1): 1}
    assert grow(counts, 5).paths == ((0,), (0, 0), (1,), (1, 1))


@pytest.mark.parametrize(
    ("width", "tokens"),
    [
        (1, 1.9),  # 1 + .6 + .6 * .4 + .6 * .4 * .25; the lesson: 1.9
        (2, 2.311),  # 1 + .75 + .75 * .55 + .75 * .55 * .36; the lesson's simulation: 2.30
        (3, 2.651125),  # 1 + .85 + .85 * .65 + .85 * .65 * .45; the lesson: 2.65
    ],
)
def test_expected_tokens_of_the_lesson(width: int, tokens: float) -> None:
    counts, total = lesson_counts()
    assert expected_tokens(TreeShape.full([width] * 3), counts, total) == pytest.approx(tokens, abs=1e-9)


def test_a_fourth_head_of_the_lesson_adds_little() -> None:
    """.6 * .4 * .25 * .1 = .006 tokens per step."""
    counts, total = lesson_counts()
    counts[0, 0, 0, 0] = counts[0, 0, 0] // 10
    gain = expected_tokens(TreeShape.chain(4), counts, total) - expected_tokens(TreeShape.chain(3), counts, total)
    assert gain == pytest.approx(0.006, abs=1e-9)


def test_the_searched_tree_beats_the_full_one_of_its_size() -> None:
    """14 nodes below the root: the full two-by-two-by-two tree is expected to give 2.311 tokens, the searched one more."""
    counts, total = lesson_counts()
    searched = grow(counts, 15)
    assert len(searched) == 15
    assert expected_tokens(searched, counts, total) > 2.311
    # the first six by hand: .6, .24 = .6 * .4, .15 (rank 1), .1 (rank 2), .09 = .6 * .15, and .06 three times, shortest first
    assert searched.paths[:6] == ((0,), (0, 0), (1,), (2,), (0, 1), (0, 2))


def test_a_path_that_was_never_seen_is_worth_nothing() -> None:
    assert expected_tokens(TreeShape([[0], [7]]), {(0,): 1}, 2) == 1.5


def test_nothing_observed_and_no_nodes() -> None:
    assert grow({}, 8) == TreeShape([])
    with pytest.raises(TreeError, match="no observed positions"):
        expected_tokens(TreeShape([]), {}, 0)
    with pytest.raises(TreeError, match="at least 1, the root"):
        grow({}, 0)
