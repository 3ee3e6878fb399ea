"""The fastest tree, by arithmetic and against trying everything."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.errors import InvalidParameterError
from headstart.trees.shape import Path, TreeShape
from headstart.tuning.choice import choose_tree, step_table
from headstart.tuning.latency import Point


def point(rows: int, nodes: int, seconds: float) -> Point:
    return Point(nodes=nodes, rows=rows, context=100, median=seconds, q1=seconds, q3=seconds, passes=5)


def test_table_of_what_was_measured() -> None:
    steps = [point(rows, nodes, rows * (10.0 + nodes)) for rows in (4, 1) for nodes in (4, 1, 2)]
    table = step_table({1: 1.0, 2: 1.6, 4: 1.58}, steps)
    assert (table.nodes_N, table.rows_R) == ((1, 2, 4), (1, 4))
    assert table.tokens_N == (1.0, 1.6, 1.6)  # more nodes never give fewer tokens
    assert table.seconds_RN == ((11.0, 12.0, 14.0), (44.0, 48.0, 56.0))


def test_times_that_fall_are_pooled() -> None:
    """Sizes 2 to 16 at 14, 10, 12, 20: the first three share 12. Plain decoding stays, above them as it is."""
    steps = [point(1, nodes, seconds) for nodes, seconds in ((1, 13.0), (2, 14.0), (4, 10.0), (8, 12.0), (16, 20.0))]
    table = step_table(dict.fromkeys((2, 4, 8, 16), 1.5), steps)
    assert table.seconds_RN == ((13.0, 12.0, 12.0, 12.0, 20.0),)


def all_trees(paths: list[Path], nodes: int) -> Iterator[frozenset[Path]]:
    seen: set[frozenset[Path]] = {frozenset()}
    level = set(seen)
    yield from seen
    for _ in range(nodes - 1):
        level = {tree | {path} for tree in level for path in paths if path not in tree and (len(path) == 1 or path[:-1] in tree)}
        yield from level


@st.composite
def tables(draw: st.DrawFn) -> dict[Path, int]:
    """Joint counts of 60 positions, two ranks, three deep."""
    counts: dict[Path, int] = {}
    level: dict[Path, int] = {(): 60}
    for _ in range(3):
        below: dict[Path, int] = {}
        for path, count in level.items():
            for rank in range(2):
                below[(*path, rank)] = draw(st.integers(0, count))
                count -= below[(*path, rank)]
        counts.update(below)
        level = below
    return counts


@settings(max_examples=10, deadline=None)
@given(tables(), st.lists(st.floats(0, 3), min_size=5, max_size=5), st.floats(0, 5))
def test_the_choice_is_the_fastest_of_all_trees(counts: dict[Path, int], rises: list[float], draft: float) -> None:
    """Brute force over every tree of up to five nodes; a pass takes longer with nodes, and drafting with depth."""
    times = [10.0 + sum(rises[:i]) for i in range(5)]

    def seconds(nodes: int, depth: int) -> float:
        return times[nodes - 1] + draft * depth

    def speed(tree: frozenset[Path]) -> float:
        depth = max((len(path) for path in tree), default=0)
        return (1 + sum(counts[path] for path in tree) / 60) / seconds(len(tree) + 1, depth)

    best = max(map(speed, all_trees(list(counts), 5)))
    chosen = choose_tree(counts, 60, seconds, max_nodes=5, max_depth=3)
    plain = 1 / times[0]
    # a tree that has no depth-d path needs no d-th draft, so that the search finds it under its own depth
    if best >= plain * 1.03:
        assert chosen.tokens_per_second == pytest.approx(best)
    else:
        assert chosen.shape == TreeShape([])


def test_a_model_that_grew_slower_is_decoded_plainly() -> None:
    """Half of the first guesses are right, and a pass over two nodes takes twice as long."""
    chosen = choose_tree({(0,): 50}, 100, lambda nodes, depth: float(nodes), max_nodes=8, max_depth=4)
    assert (chosen.shape, chosen.tokens, chosen.seconds) == (TreeShape([]), 1.0, 1.0)


def test_depth_that_costs_too_much_is_left_out() -> None:
    """The chain of two gives 1 + .8 + .6 = 2.4 tokens; each depth costs .5: 2.4 / 2 against 1.8 / 1.5, equal to the shorter one."""
    counts = {(0,): 80, (0, 0): 60}
    cheap = choose_tree(counts, 100, lambda nodes, depth: 1 + 0.4 * depth, max_nodes=8, max_depth=2)
    dear = choose_tree(counts, 100, lambda nodes, depth: 1 + 0.6 * depth, max_nodes=8, max_depth=2)
    assert cheap.shape.depth == 2  # 2.4 / 1.8 = 1.33 against 1.8 / 1.4 = 1.29
    assert dear.shape.depth == 1  # 2.4 / 2.2 = 1.09 against 1.8 / 1.6 = 1.13


def test_a_budget_below_two() -> None:
    with pytest.raises(InvalidParameterError, match="max_nodes is 1; expected at least 2"):
        choose_tree({}, 1, lambda nodes, depth: 1.0, max_nodes=1, max_depth=1)
