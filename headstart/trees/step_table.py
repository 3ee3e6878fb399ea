"""How many tokens a step gives and how long it takes, by the size of its trees: what the number of nodes is chosen from.

Shapes: R batch sizes, N tree sizes.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from headstart.errors import TreeError

MARGIN = 0.03
"""By how much guessing has to be expected to be faster than plain decoding; less is within the error of what was measured."""


@dataclass(frozen=True)
class StepTable:
    """Tree sizes with what they give and take. The first size is 1, plain decoding, which gives 1 token a step.

    Raises:
        TreeError: sizes that do not ascend from 1, a number of values that does not fit them, tokens below 1, or times that are
            not above 0.
    """

    nodes_N: tuple[int, ...]
    """The root included."""
    tokens_N: tuple[float, ...]
    """Tokens per step of a row."""
    rows_R: tuple[int, ...]
    """Batch sizes, ascending."""
    seconds_RN: tuple[tuple[float, ...], ...]
    """Of a whole step of the batch: drafting, the pass, acceptance and the rest."""

    def __post_init__(self) -> None:
        for name, values in (("tree sizes", self.nodes_N), ("batch sizes", self.rows_R)):
            if not values or values[0] < 1 or any(low >= high for low, high in zip(values, values[1:], strict=False)):
                raise TreeError(f"step table: {name} {list(values)}; expected at least one, ascending")
        if self.nodes_N[0] != 1:
            raise TreeError(f"step table: the smallest tree has {self.nodes_N[0]} nodes; expected 1, plain decoding")
        sizes = len(self.nodes_N)
        if len(self.tokens_N) != sizes or len(self.seconds_RN) != len(self.rows_R) or any(len(r) != sizes for r in self.seconds_RN):
            raise TreeError("step table: expected tokens for each tree size, and seconds for each batch size and tree size")
        if self.tokens_N[0] != 1.0 or not all(1.0 <= tokens < float("inf") for tokens in self.tokens_N):
            raise TreeError(f"step table: tokens per step {list(self.tokens_N)}; expected 1 for plain decoding and at least 1 else")
        if not all(0 < seconds < float("inf") for row in self.seconds_RN for seconds in row):
            raise TreeError("step table: times have to be above 0")

    def seconds(self, rows: int, size: int) -> float:
        """Of a step of ``rows`` rows with trees of ``nodes_N[size]`` nodes.

        Linear between batch sizes; beyond the last one by its last slope, never downwards.
        """
        times = [row[size] for row in self.seconds_RN]
        if len(times) == 1 or rows <= self.rows_R[0]:
            return times[0]
        upper = min(bisect_left(self.rows_R, rows), len(times) - 1)
        low, high = self.rows_R[upper - 1], self.rows_R[upper]
        slope = (times[upper] - times[upper - 1]) / (high - low)
        if rows > high:
            return times[upper] + max(slope, 0.0) * (rows - high)
        return times[upper - 1] + slope * (rows - low)

    def speedup(self, rows: int, size: int) -> float:
        """Tokens per second against plain decoding of as many rows."""
        return self.tokens_N[size] * self.seconds(rows, 0) / self.seconds(rows, size)

    def only(self, sizes: Sequence[int]) -> "StepTable":
        """A table of some of the sizes, by their places; the first one has to be among them."""
        return StepTable(
            tuple(self.nodes_N[size] for size in sizes),
            tuple(self.tokens_N[size] for size in sizes),
            self.rows_R,
            tuple(tuple(times[size] for size in sizes) for times in self.seconds_RN),
        )

    def best(self, rows: int) -> int:
        """The place in ``nodes_N`` of the fastest size; 0, plain decoding, where none is faster by ``MARGIN``."""
        return fastest([self.speedup(rows, size) for size in range(len(self.nodes_N))])


def fastest(speed_N: Sequence[float]) -> int:
    """The place of the largest speed, the smallest tree among equals; 0, plain decoding, where none beats it by ``MARGIN``."""
    best = max(range(len(speed_N)), key=lambda size: speed_N[size])
    return best if speed_N[best] >= speed_N[0] * (1 + MARGIN) else 0
