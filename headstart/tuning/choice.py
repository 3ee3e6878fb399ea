"""Which tree is fastest: expected tokens per step over the time of a step.

A table of measured steps answers for trees of every size (:class:`headstart.trees.step_table.StepTable`). Where the time to
draft depends on how deep the tree is, a size has a different best tree for each depth, and all depths are searched.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headstart.errors import InvalidParameterError
from headstart.trees.search import Counts, expected_tokens, grow
from headstart.trees.shape import TreeShape
from headstart.trees.step_table import StepTable, fastest
from headstart.tuning.latency import Point


@dataclass(frozen=True)
class Choice:
    """A tree and what it is expected to give."""

    shape: TreeShape
    tokens: float
    """Per step."""
    seconds: float
    """A step."""

    @property
    def tokens_per_second(self) -> float:
        return self.tokens / self.seconds


def step_table(tokens: Mapping[int, float], steps: Sequence[Point]) -> StepTable:
    """The table of tokens per step by nodes, and times of steps of every size and batch size.

    More nodes never give fewer tokens; where an estimate says so, it is noise, and the smaller tree's value stands. Nor do they
    take less time; where medians say so, neighbours share their mean. Plain decoding is left as it was measured: a pass over a
    single row can take another path.
    """
    nodes_N = sorted({point.nodes for point in steps})
    median = {(point.rows, point.nodes): point.median for point in steps}
    rows_R = sorted({point.rows for point in steps})
    tokens_N = [1.0]
    for nodes in nodes_N[1:]:
        tokens_N.append(max(tokens[nodes], tokens_N[-1]))
    seconds_RN = tuple((median[rows, 1], *_rising([median[rows, nodes] for nodes in nodes_N[1:]])) for rows in rows_R)
    return StepTable(tuple(nodes_N), tuple(tokens_N), tuple(rows_R), seconds_RN)


def _rising(values: Sequence[float]) -> list[float]:
    """The nearest sequence that never falls, by squares: what falls is pooled (Ayer et al. 1955)."""
    pools: list[tuple[float, int]] = []
    for value in values:
        mean, count = value, 1
        while pools and pools[-1][0] > mean:
            before, others = pools.pop()
            mean, count = (before * others + mean * count) / (others + count), others + count
        pools.append((mean, count))
    return [mean for mean, count in pools for _ in range(count)]


def choose_tree(counts: Counts, total: int, seconds: Callable[[int, int], float], *, max_nodes: int, max_depth: int) -> Choice:
    """The tree with the most expected tokens per second, over every size and every depth; the root alone where none is faster.

    Args:
        counts: how many of ``total`` positions have their continuation on each rank path.
        seconds: the time of a step with trees of so many nodes, root included, and so deep a drafting.

    Raises:
        InvalidParameterError: fewer nodes than two.
    """
    if max_nodes < 2:
        raise InvalidParameterError(f"max_nodes is {max_nodes}; expected at least 2, the root and a guess")
    choices = [Choice(TreeShape([]), 1.0, seconds(1, 0))]
    for depth in range(1, max_depth + 1):
        whole = grow(counts, max_nodes, max_depth=depth)
        for nodes in range(2, len(whole) + 1):
            shape = whole.limited(nodes=nodes)
            choices.append(Choice(shape, expected_tokens(shape, counts, total), seconds(nodes, depth)))
    return choices[fastest([choice.tokens_per_second for choice in choices])]
