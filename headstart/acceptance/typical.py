"""The ``typical`` rule (lossy): a guess is taken if it is no less likely than what is typical at its place.

Source: Medusa (Cai et al. 2024), section 2.3.1.

Shapes: B rows, N nodes, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from headstart.acceptance.longest_path import longest_path
from headstart.acceptance.walk import Accepted
from headstart.errors import InvalidParameterError
from headstart.sampling.kinds import check_number
from headstart.sampling.row import RowSampling
from headstart.trees.candidate import CandidateTree

_IMPOSSIBLE = -1e4  # a logarithm whose exponential is 0 in any precision


@dataclass(frozen=True, kw_only=True)
class Typical:
    """Accepts x where p(x) > min(epsilon, delta * exp(-H(p))): little is asked where the model itself is undecided.

    At temperature 0 it equals ``exact``.

    Raises:
        InvalidParameterError: epsilon or delta is outside its range.
    """

    name: ClassVar[str] = "typical"
    lossy: ClassVar[bool] = True
    draws: ClassVar[bool] = False

    epsilon: float = 0.09
    """The most that is ever asked; in (0, 1)."""
    delta: float = 0.3
    """Share of exp(-H), H being the entropy in nats; above 0."""

    def __post_init__(self) -> None:
        check_number("epsilon", self.epsilon)
        check_number("delta", self.delta)
        if not 0 < self.epsilon < 1:
            raise InvalidParameterError(f"epsilon is {self.epsilon}; expected a probability in (0, 1)")
        if not (math.isfinite(self.delta) and self.delta > 0):
            raise InvalidParameterError(f"delta is {self.delta}; expected a number above 0")

    def accept(self, tree: CandidateTree, logits_BNV: torch.Tensor, rows: Sequence[RowSampling | None]) -> list[Accepted | None]:
        return longest_path(tree, logits_BNV, rows, self.bound)

    def bound(self, log_p_V: torch.Tensor) -> float:
        # tokens of no probability add nothing, and nothing times -inf is no number
        entropy = -float(torch.dot(log_p_V.exp(), log_p_V.clamp(min=_IMPOSSIBLE)))
        return min(self.epsilon, self.delta * math.exp(-entropy))
