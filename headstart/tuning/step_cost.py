"""What a step costs against plain decoding, by a rule of thumb instead of measurement."""

from dataclasses import dataclass
from math import inf

from headstart.errors import InvalidParameterError


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """In passes of plain decoding.

    Raises:
        InvalidParameterError: a cost that is no number from 0 on.
    """

    per_node: float = 0.0
    """What each node but the root adds."""
    overhead: float = 0.0
    """What every step adds: drafting, acceptance, whatever is not the pass."""
    per_level: float = 0.0
    """What each level of the tree adds, where drafting goes on from its own guesses: a pass of a draft model."""

    def __post_init__(self) -> None:
        if not all(0 <= cost < inf for cost in (self.per_node, self.overhead, self.per_level)):
            raise InvalidParameterError(
                f"costs of {self.per_node} a node, {self.per_level} a level and {self.overhead} a step; expected numbers from 0 on"
            )

    def of(self, nodes: int, depth: int = 0) -> float:
        """A step with a tree of ``nodes`` nodes, root included, and ``depth`` levels below the root."""
        return 1 + self.overhead + self.per_node * (nodes - 1) + self.per_level * depth

    def speedup(self, tokens: float, nodes: int = 1, depth: int = 0) -> float:
        """Against plain decoding, with ``tokens`` tokens per step: ``L * T / (T + overhead)``."""
        return tokens / self.of(nodes, depth)
