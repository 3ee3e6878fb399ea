"""Static candidate trees: the shape is fixed, each node standing for a rank path (head 1's r-th guess, then head 2's, ...).

Shapes: N nodes, the root included and first; E nodes without the root.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache

import torch

from headstart.errors import TreeError

Path = tuple[int, ...]


class TreeShape:
    """A tree given by rank paths without the root, the published format: ``[[0], [0, 0], [1], [0, 1]]``.

    The order of ``paths`` is kept where parents come before children, so that a list ordered by worth can be cut with
    :meth:`limited`. Masks and depths are computed once. Source: Medusa (Cai et al. 2024), section 2.1.2, tree attention.

    Raises:
        TreeError: an empty path, a negative rank, a repeated path, or a path whose parent is missing.
    """

    def __init__(self, paths: Iterable[Sequence[int]]) -> None:
        self.paths: tuple[Path, ...] = _validated(paths)
        index = {path: i + 1 for i, path in enumerate(self.paths)}
        index[()] = 0
        self.parent_N: tuple[int, ...] = (-1, *(index[path[:-1]] for path in self.paths))
        self.depth_N: tuple[int, ...] = (0, *(len(path) for path in self.paths))
        self.rank_N: tuple[int, ...] = (0, *(path[-1] for path in self.paths))

    def __len__(self) -> int:
        """Number of nodes, the root included."""
        return len(self.parent_N)

    def __repr__(self) -> str:
        return f"TreeShape({len(self)} nodes, depth {self.depth}, width {self.width})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeShape) and self.paths == other.paths

    def __hash__(self) -> int:
        return hash(self.paths)

    @cached_property
    def depth(self) -> int:
        """Length of the longest path: how many heads the tree uses."""
        return max(self.depth_N)

    @cached_property
    def width(self) -> int:
        """How many guesses of a head the tree uses at most: the largest rank plus one."""
        return max(self.rank_N) + 1 if self.paths else 0

    @cached_property
    def ancestors_NN(self) -> torch.Tensor:
        """bool; row i marks the nodes that node i attends to: itself and its ancestors."""
        ancestors = torch.zeros(len(self), len(self), dtype=torch.bool)
        for node, parent in enumerate(self.parent_N):
            if parent >= 0:
                ancestors[node] = ancestors[parent]
            ancestors[node, node] = True
        return ancestors

    @cached_property
    def parent_tensor_N(self) -> torch.Tensor:
        return torch.tensor(self.parent_N)

    @cached_property
    def depth_tensor_N(self) -> torch.Tensor:
        return torch.tensor(self.depth_N)

    @cached_property
    def head_E(self) -> torch.Tensor:
        """For each node but the root, which head (from 0) guesses it."""
        return torch.tensor(self.depth_N[1:], dtype=torch.int64) - 1

    @cached_property
    def rank_E(self) -> torch.Tensor:
        """For each node but the root, which of its head's guesses it is (from 0)."""
        return torch.tensor(self.rank_N[1:], dtype=torch.int64)

    @cached_property
    def sibling_E(self) -> torch.Tensor:
        """For each node but the root, how many children of its parent come before it."""
        born: Counter[int] = Counter()
        places = []
        for parent in self.parent_N[1:]:
            places.append(born[parent])
            born[parent] += 1
        return torch.tensor(places, dtype=torch.int64)

    def limited(self, *, nodes: int | None = None, depth: int | None = None, width: int | None = None) -> "TreeShape":
        """The tree cut to ``depth`` and ``width``, then to its first ``nodes`` nodes (root included), in the paths' order."""
        return _limited(self, nodes, depth, width)

    @classmethod
    def chain(cls, depth: int) -> "TreeShape":
        """The first guess of each head, one after another."""
        return cls([(0,) * d for d in range(1, depth + 1)])

    @classmethod
    def full(cls, widths: Sequence[int]) -> "TreeShape":
        """Every combination of the first ``widths[d]`` guesses at depth d + 1."""
        paths: list[Path] = []
        level: list[Path] = [()]
        for width in widths:
            level = [(*path, rank) for path in level for rank in range(width)]
            paths += level
        return cls(paths)


@lru_cache(maxsize=512)
def _limited(shape: TreeShape, nodes: int | None, depth: int | None, width: int | None) -> TreeShape:
    if nodes is not None and nodes < 1:
        raise TreeError(f"a tree of {nodes} nodes was asked for; expected at least 1, the root")
    paths = [path for path in shape.paths if (depth is None or len(path) <= depth) and (width is None or max(path) < width)]
    return TreeShape(paths if nodes is None else paths[: nodes - 1])


def _validated(paths: Iterable[Sequence[int]]) -> tuple[Path, ...]:
    """Paths as tuples with parents before children; otherwise in the order given."""
    given: list[Path] = []
    for raw in paths:
        path = tuple(raw)
        if not path or any(not isinstance(rank, int) or isinstance(rank, bool) or rank < 0 for rank in path):
            raise TreeError(f"tree path {list(path)} is malformed; expected ranks from 0, for instance [0, 2]; leave out the root")
        given.append(path)
    known = set(given)
    if len(known) < len(given):
        twice = next(path for path in given if given.count(path) > 1)
        raise TreeError(f"tree path {list(twice)} is listed more than once; list each node once")
    for path in given:
        if len(path) > 1 and path[:-1] not in known:
            raise TreeError(
                f"tree path {list(path)} has no parent {list(path[:-1])}; list every node of the tree, not only the leaves"
            )
    placed: set[Path] = {()}
    ordered: list[Path] = []
    for path in given:  # a parent that comes later is pulled forward to its first child
        for length in range(1, len(path) + 1):
            if path[:length] not in placed:
                placed.add(path[:length])
                ordered.append(path[:length])
    return tuple(ordered)
