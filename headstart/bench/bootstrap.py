"""Confidence intervals by resampling questions (Efron 1979: the percentile bootstrap).

Times have a second source of chance besides the questions: a machine is not the same from one run to the next, which the questions
of a single run cannot show. So every draw is also multiplied by the exponential of a normal number, whose standard deviation
``noise`` is how far two runs of the same thing were apart; see ``noise.py``.

Shapes: Q questions, R resamples.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch

RESAMPLES = 4000
CONFIDENCE = 0.95
FEW = 8
"""Below so many questions an interval is too narrow to be believed."""


@dataclass(frozen=True)
class Interval:
    """An estimate, and between what it would lie in 95 of 100 runs with questions like these."""

    estimate: float
    low: float
    high: float
    n: int

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def median_interval(values: Sequence[float], *, noise: float = 0.0, seed: int = 0) -> Interval | None:
    """Of the median of ``values``, one a question; None without any."""
    if not values:
        return None
    values_Q = torch.tensor(values, dtype=torch.float64)
    draws_R = values_Q[_draws(len(values), seed)].quantile(0.5, dim=1)
    return _interval(values_Q.quantile(0.5), draws_R * _machines(noise, seed), len(values))


def ratio_interval(tops: Sequence[float], bottoms: Sequence[float], *, noise: float = 0.0, seed: int = 0) -> Interval | None:
    """Of the sum of ``tops`` over the sum of ``bottoms``, a pair a question; None without any."""
    if not tops:
        return None
    tops_Q, bottoms_Q = torch.tensor(tops, dtype=torch.float64), torch.tensor(bottoms, dtype=torch.float64)
    chosen_RQ = _draws(len(tops), seed)
    draws_R = tops_Q[chosen_RQ].sum(1) / bottoms_Q[chosen_RQ].sum(1)
    return _interval(tops_Q.sum() / bottoms_Q.sum(), draws_R * _machines(noise, seed), len(tops))


def ratio_difference_interval(
    mine: tuple[Sequence[float], Sequence[float]], theirs: tuple[Sequence[float], Sequence[float]], *, seed: int = 0
) -> Interval | None:
    """Of a ratio of sums as in :func:`ratio_interval`, less another one of the same questions; None without any."""
    if not mine[0]:
        return None
    mine_2Q, theirs_2Q = torch.tensor(mine, dtype=torch.float64), torch.tensor(theirs, dtype=torch.float64)
    chosen_RQ = _draws(len(mine[0]), seed)
    draws_R = _ratio(mine_2Q[:, chosen_RQ]) - _ratio(theirs_2Q[:, chosen_RQ])
    return _interval(_ratio(mine_2Q) - _ratio(theirs_2Q), draws_R, len(mine[0]))


def _ratio(parts: torch.Tensor) -> torch.Tensor:
    sums = parts.sum(-1)
    return sums[0] / sums[1]


def _draws(count: int, seed: int) -> torch.Tensor:
    return torch.randint(count, (RESAMPLES, count), generator=torch.Generator().manual_seed(seed))


def _machines(noise: float, seed: int) -> torch.Tensor:
    """How much slower or faster the machine is in each draw."""
    generator = torch.Generator().manual_seed(seed + 1)
    normal_R = torch.randn(RESAMPLES, generator=generator, dtype=torch.float64)
    return torch.exp(noise * normal_R)


def _interval(estimate: torch.Tensor, draws_R: torch.Tensor, count: int) -> Interval:
    tail = (1 - CONFIDENCE) / 2
    low, high = draws_R.quantile(torch.tensor([tail, 1 - tail], dtype=torch.float64)).tolist()
    return Interval(float(estimate), low, high, count)
