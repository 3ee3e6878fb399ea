"""Static tree shapes: rank paths in, parents, depths and the ancestor mask out."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.errors import TreeError
from headstart.trees.search import grow
from headstart.trees.shape import Path, TreeShape

# two guesses of head 1, each followed by two guesses of head 2
TWO_BY_TWO = [[0], [1], [0, 0], [0, 1], [1, 0], [1, 1]]


def closed(paths: set[Path]) -> list[Path]:
    """The paths and all their ancestors, in no particular order."""
    return sorted({path[:length] for path in paths for length in range(1, len(path) + 1)}, key=lambda p: (hash(p) % 97, p))


shapes = st.sets(st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple), max_size=8).map(closed)


def test_mask_of_the_lesson() -> None:
    """The lesson prints this matrix for "sat", "is", "sat on", "sat down", "is on", "is down", its root left out."""
    without_root = TreeShape(TWO_BY_TWO).ancestors_NN[1:, 1:].int().tolist()
    assert without_root == [
        [1, 0, 0, 0, 0, 0],
        [0, 1, 0, 0, 0, 0],
        [1, 0, 1, 0, 0, 0],
        [1, 0, 0, 1, 0, 0],
        [0, 1, 0, 0, 1, 0],
        [0, 1, 0, 0, 0, 1],
    ]


def test_the_root_is_seen_by_all_and_sees_itself_alone() -> None:
    ancestors = TreeShape(TWO_BY_TWO).ancestors_NN
    assert ancestors[:, 0].all()
    assert ancestors[0].tolist() == [True, False, False, False, False, False, False]


def test_parents_depths_ranks_and_heads() -> None:
    shape = TreeShape(TWO_BY_TWO)
    assert shape.parent_N == (-1, 0, 0, 1, 1, 2, 2)
    assert shape.depth_N == (0, 1, 1, 2, 2, 2, 2)
    assert shape.rank_N == (0, 0, 1, 0, 1, 0, 1)
    assert shape.head_E.tolist() == [0, 0, 1, 1, 1, 1]  # depth 1 is guessed by head 0
    assert shape.rank_E.tolist() == [0, 1, 0, 1, 0, 1]
    assert (len(shape), shape.depth, shape.width) == (7, 2, 2)


def test_the_root_alone() -> None:
    shape = TreeShape([])
    assert (len(shape), shape.depth, shape.width) == (1, 0, 0)
    assert shape.ancestors_NN.tolist() == [[True]]
    assert shape.head_E.tolist() == []
    assert shape.head_E.dtype == torch.int64  # an empty index has to be an index all the same


@settings(max_examples=40, deadline=None)
@given(shapes)
def test_ancestors_are_the_prefixes(paths: list[Path]) -> None:
    """A node attends to another exactly where the other's path is the beginning of its own."""
    shape = TreeShape(paths)
    nodes = [(), *shape.paths]
    assert set(nodes[1:]) == set(paths)
    for i, path in enumerate(nodes):
        assert shape.ancestors_NN[i].tolist() == [path[: len(other)] == other for other in nodes]
        assert shape.parent_N[i] == (nodes.index(path[:-1]) if path else -1)
        assert shape.parent_N[i] < i


def test_order_is_kept_and_a_late_parent_is_pulled_forward() -> None:
    """[1, 0] needs [1] before it; [0] comes where it was, after both."""
    assert TreeShape([[1, 0], [0], [1]]).paths == ((1,), (1, 0), (0,))


@pytest.mark.parametrize("depth", [4, 5])
def test_published_style_of_63_nodes(depth: int) -> None:
    """The published trees: 63 nodes without the root, ten guesses at depth 1, four or five deep, listed in any order.

    The counts are products of the published top-1 accuracies with a share of 1/(rank + 1)**2 for later guesses.
    """
    accuracy = [0.56, 0.32, 0.20, 0.15, 0.12][:depth]
    counts: dict[Path, int] = {}
    level: dict[Path, float] = {(): 1e9}
    for share in accuracy:
        level = {(*path, rank): worth * share / (rank + 1) ** 2 for path, worth in level.items() for rank in range(10)}
        level = dict(sorted(level.items(), key=lambda item: -item[1])[:200])
        counts.update({path: int(worth) for path, worth in level.items()})
    # as the published ones, it holds the chain of first guesses and all ten guesses of head 1
    always = [*TreeShape.chain(depth).paths, *TreeShape.full([10]).paths]
    counts.update(dict.fromkeys(always, 1_000_000_000))
    paths = [list(path) for path in grow(counts, 64).paths]
    random.Random(0).shuffle(paths)
    shape = TreeShape(paths)
    assert (len(shape), shape.depth, shape.width) == (64, depth, 10)
    assert shape.ancestors_NN.sum(-1).tolist() == [d + 1 for d in shape.depth_N]  # its ancestors and itself


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ([[]], r"\[\] is malformed"),
        ([[-1]], "malformed"),
        ([[0.5]], "malformed"),
        ([[True]], "malformed"),
        ([[0], [1], [0]], r"\[0\] is listed more than once"),
        ([[0], [1, 0]], r"\[1, 0\] has no parent \[1\]"),
    ],
)
def test_malformed_trees_are_refused(paths: list[list[int]], words: str) -> None:
    with pytest.raises(TreeError, match=words):
        TreeShape(paths)


def test_limited_cuts_depth_and_width_and_then_counts() -> None:
    shape = TreeShape([[0], [0, 0], [2], [0, 0, 0], [1], [1, 0]])
    assert shape.limited(nodes=3).paths == ((0,), (0, 0))
    assert shape.limited(depth=1).paths == ((0,), (2,), (1,))
    assert shape.limited(width=2).paths == ((0,), (0, 0), (0, 0, 0), (1,), (1, 0))
    assert shape.limited(nodes=3, depth=1, width=2).paths == ((0,), (1,))  # [2] and [0, 0] use up no node
    assert shape.limited(depth=0).paths == shape.limited(nodes=1).paths == ()
    assert shape.limited() == shape
    with pytest.raises(TreeError, match="at least 1, the root"):
        shape.limited(nodes=0)


@settings(max_examples=40, deadline=None)
@given(shapes, st.integers(1, 12), st.integers(0, 5), st.integers(1, 5))
def test_a_limited_tree_is_a_tree(paths: list[Path], nodes: int, depth: int, width: int) -> None:
    shape = TreeShape(paths)
    cut = shape.limited(nodes=nodes, depth=depth, width=width)
    fitting = [path for path in shape.paths if len(path) <= depth and max(path) < width]
    assert cut.paths == tuple(fitting[: nodes - 1])


def test_chain_and_full() -> None:
    assert TreeShape.chain(3).paths == ((0,), (0, 0), (0, 0, 0))
    assert TreeShape.chain(0).paths == ()
    assert TreeShape.full([2, 2]) == TreeShape(TWO_BY_TWO)
    # the lesson's practice: 3, 14 and 39 nodes for three heads with one, two and three guesses each, without the root
    assert [len(TreeShape.full([width] * 3)) - 1 for width in (1, 2, 3)] == [3, 14, 39]


def test_equal_shapes_are_one_key() -> None:
    assert {TreeShape([[0], [1]]): "a"}[TreeShape([[0], [1]])] == "a"
    assert TreeShape([[0], [1]]) != TreeShape([[1], [0]])  # the order decides what a smaller budget keeps


def test_places_among_siblings_follow_the_order_of_nodes() -> None:
    """Ranks 3 and 1 of the root's children are its first and its second child."""
    shape = TreeShape([[3], [1], [3, 0], [1, 2], [3, 5]])
    assert shape.rank_E.tolist() == [3, 1, 0, 2, 5]
    assert shape.sibling_E.tolist() == [0, 1, 0, 0, 1]
