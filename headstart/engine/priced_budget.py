"""A largest number of nodes, and what a node costs here: for drafters whose guesses say themselves how likely they are.

How long a pass takes grows with its nodes, on an accelerator hardly at all, on a small processor much. The budget learns it from
the steps of real texts, which have trees of many sizes, so that nothing has to be measured beforehand.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.engine.budget import kind_of

FIRST_PRICE = 0.03
"""Before anything is known."""
_RANGE = (0.002, 0.5)
_KEPT = 128.0  # steps that are remembered
_BELIEF = 50.0  # squares of nodes that the word of FIRST_PRICE counts for; ten steps with trees of all sizes have twice as many
_HELD_UP = 2.0  # a step cannot have taken longer than so many times the mean: something else held it up


@dataclass
class _Seen:
    """Decaying sums over steps, of the nodes beyond the root and of the time."""

    steps: float = 0.0
    nodes: float = 0.0
    squares: float = 0.0
    seconds: float = 0.0
    products: float = 0.0

    def add(self, nodes: int, seconds: float) -> None:
        if self.steps:
            seconds = min(seconds, _HELD_UP * self.seconds / self.steps)
        left = 1 - 1 / _KEPT
        self.steps = self.steps * left + 1
        self.nodes = self.nodes * left + nodes
        self.squares = self.squares * left + nodes * nodes
        self.seconds = self.seconds * left + seconds
        self.products = self.products * left + nodes * seconds

    def price(self) -> float:
        """The slope of a straight line through what was seen over its height at no nodes, drawn towards FIRST_PRICE."""
        if not self.steps:
            return FIRST_PRICE
        mean_nodes, mean_seconds = self.nodes / self.steps, self.seconds / self.steps
        spread = self.squares - self.nodes * mean_nodes
        together = self.products - self.nodes * mean_seconds
        height = mean_seconds / (1 + FIRST_PRICE * mean_nodes)  # of a step without guesses, were the first price right
        slope = (together + _BELIEF * FIRST_PRICE * height) / (spread + _BELIEF)
        height = max(mean_seconds - slope * mean_nodes, mean_seconds / 4)
        return min(max(slope / height, _RANGE[0]), _RANGE[1])


class PricedBudget:
    """The same largest number of nodes always; the drafter stops earlier where the next guess is not worth its price."""

    def __init__(self, nodes: int) -> None:
        self.sizes = (nodes,)
        self._seen: dict[int, _Seen] = {}

    def nodes(self, rows: int, *, observed: bool = True) -> int:
        return self.sizes[0]

    def price(self, rows: int) -> float:
        seen = self._seen.get(kind_of(rows))
        return FIRST_PRICE if seen is None else seen.price()

    def observe(self, rows: int, nodes: int, accepted: Sequence[int], seconds: float, width: int = 0) -> None:
        if seconds > 0 and width > 0:
            self._seen.setdefault(kind_of(rows), _Seen()).add(width - 1, seconds)
