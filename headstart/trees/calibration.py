"""From what a drafter thinks of its guesses to how often they are right.

Shapes: B rows, K depths, R ranks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from headstart.errors import TreeError

_ALMOST_ONE = 1.0 - 2.0**-20


@dataclass(frozen=True)
class Calibration:
    """Per depth a straight line in log-odds: ``logit P(right | path before it right) = slope * logit q + offset``.

    Source: Platt (1999), scaling of a classifier's scores.

    Raises:
        TreeError: a slope that is not above 0, since a more probable guess would be worth less.
    """

    slope_K: tuple[float, ...]
    offset_K: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.slope_K) != len(self.offset_K):
            raise TreeError(
                f"calibration: {len(self.slope_K)} slopes and {len(self.offset_K)} offsets; expected one of each per depth"
            )
        if not all(0 < slope < float("inf") for slope in self.slope_K) or not all(abs(x) < float("inf") for x in self.offset_K):
            raise TreeError("calibration: slopes have to be above 0, and offsets finite")

    @classmethod
    def none(cls, depth: int) -> "Calibration":
        """Take the drafter's word for it."""
        return cls((1.0,) * depth, (0.0,) * depth)

    def log_worth(self, log_q_BKR: torch.Tensor) -> torch.Tensor:
        """Log of the chance that a guess is right, from its log probability; at most 0, in the order of ``log_q_BKR``."""
        slope_K1 = torch.tensor(self.slope_K, device=log_q_BKR.device)[:, None]
        offset_K1 = torch.tensor(self.offset_K, device=log_q_BKR.device)[:, None]
        return F.logsigmoid(slope_K1 * log_odds(log_q_BKR) + offset_K1)

    def to_dict(self) -> dict[str, Any]:
        return {"slope": list(self.slope_K), "offset": list(self.offset_K)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Calibration":
        """Raises KeyError, TypeError or ValueError for what is malformed, TreeError for values out of range."""
        slope, offset = data["slope"], data["offset"]
        if not isinstance(slope, Sequence) or not isinstance(offset, Sequence):
            raise TypeError("slope and offset have to be lists")
        return cls(tuple(float(x) for x in slope), tuple(float(x) for x in offset))


def log_odds(log_q: torch.Tensor) -> torch.Tensor:
    """log(q / (1 - q)) in float32; a q of 1 counts as a little less."""
    q = log_q.float().exp().clamp(max=_ALMOST_ONE)
    return log_q.float().clamp(max=0) - torch.log1p(-q)
