"""The ``threshold`` rule (lossy): a guess is taken if the base model finds it likelier than a fixed probability.

Shapes: B rows, N nodes, V vocabulary.
"""

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


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """Accepts x where p(x) > threshold. At temperature 0 it equals ``exact``.

    Raises:
        InvalidParameterError: the threshold is outside its range.
    """

    name: ClassVar[str] = "threshold"
    lossy: ClassVar[bool] = True
    draws: ClassVar[bool] = False

    threshold: float = 0.09
    """In (0, 1)."""

    def __post_init__(self) -> None:
        check_number("threshold", self.threshold)
        if not 0 < self.threshold < 1:
            raise InvalidParameterError(f"threshold is {self.threshold}; expected a probability in (0, 1)")

    def accept(self, tree: CandidateTree, logits_BNV: torch.Tensor, rows: Sequence[RowSampling | None]) -> list[Accepted | None]:
        return longest_path(tree, logits_BNV, rows, lambda log_p_V: self.threshold)
