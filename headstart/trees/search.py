"""The best tree of a size, from how often the true continuation lies on each rank path.

``counts[path]`` is how many of ``total`` observed positions had their true continuation on ``path``: head 1's guess number
``path[0]`` was right, and then head 2's number ``path[1]``, and so on. It is joint, not a product of the heads' accuracies.
"""

import heapq
from collections.abc import Mapping

from headstart.errors import TreeError
from headstart.trees.shape import Path, TreeShape

Counts = Mapping[Path, float]
"""Of observed positions; or chances, of a total of 1."""


def grow(counts: Counts, nodes: int, *, max_depth: int | None = None, max_width: int | None = None) -> TreeShape:
    """The tree of at most ``nodes`` nodes, the root included, with the largest expected tokens per step.

    Greedy growth: always add the path with the largest count whose parent is in the tree. A path's count never exceeds its
    parent's, so that the first n paths are the best n paths for every n, and a smaller budget is a prefix of the result.
    Paths that were never right are left out. Ties go to the shorter path, then the lower ranks.

    Raises:
        TreeError: fewer nodes than the root.
    """
    if nodes < 1:
        raise TreeError(f"a tree of {nodes} nodes was asked for; expected at least 1, the root")
    children: dict[Path, list[Path]] = {}
    for path, count in counts.items():
        if count > 0 and (max_depth is None or len(path) <= max_depth) and (max_width is None or max(path) < max_width):
            children.setdefault(path[:-1], []).append(path)
    chosen: list[Path] = []
    frontier = [_ranked(path, counts) for path in children.get((), [])]
    heapq.heapify(frontier)
    while frontier and len(chosen) < nodes - 1:
        _, _, path = heapq.heappop(frontier)
        chosen.append(path)
        for child in children.get(path, []):
            heapq.heappush(frontier, _ranked(child, counts))
    return TreeShape(chosen)


def expected_tokens(shape: TreeShape, counts: Counts, total: int) -> float:
    """Expected tokens per step with ``shape``: one, plus for each node the chance that it is accepted.

    It is the mean over observed positions; steps of a real run start a little more often where guessing is hard.
    """
    if total < 1:
        raise TreeError("no observed positions; decode or evaluate something before asking what a tree is worth")
    return 1.0 + sum(counts.get(path, 0) for path in shape.paths) / total


def _ranked(path: Path, counts: Counts) -> tuple[float, int, Path]:
    return -counts[path], len(path), path
