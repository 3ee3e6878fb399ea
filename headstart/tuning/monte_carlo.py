"""Steps drawn at random, as a check of the arithmetic."""

from bisect import bisect_right
from itertools import accumulate
from math import sqrt
from random import Random

from headstart.trees.shape import Path, TreeShape
from headstart.tuning.chances import Chances


def drawn_tokens(shape: TreeShape, chances: Chances, steps: int, random: Random) -> tuple[float, float]:
    """Tokens per step over ``steps`` random steps with ``shape``, and its standard error.

    A step draws one number for each head that it reaches: the rank of the truth there. It ends at the first one that is not in the
    tree. Several trees may draw from one ``random``, one after another.
    """
    inside = set(shape.paths)
    ranks = max(path[-1] for path in chances) + 1
    cumulative = {path: _cumulative(chances, path, ranks) for path in ((), *shape.paths) if len(path) < shape.depth}
    total = squares = 0
    for _ in range(steps):
        path: Path = ()
        while len(path) < shape.depth:
            path = (*path, bisect_right(cumulative[path], random.random()))
            if path not in inside:
                path = path[:-1]
                break
        total += len(path) + 1
        squares += (len(path) + 1) ** 2
    mean = total / steps
    return mean, sqrt(max(0.0, squares / steps - mean**2) / steps)


def _cumulative(chances: Chances, path: Path, ranks: int) -> list[float]:
    """Chances that the truth is among the first 1, 2, ... guesses after ``path``, where that is right."""
    here = chances.get(path, 0.0) if path else 1.0
    shares = (chances.get((*path, rank), 0.0) / here if here else 0.0 for rank in range(ranks))
    return list(accumulate(shares))
