"""Fits what a drafter's probabilities are worth to what was seen to be right.

Shapes: E observed positions, K depths, R ranks, M observations of a depth.
"""

import torch

from headstart.errors import TreeError
from headstart.trees.calibration import Calibration, log_odds

_ITERATIONS = 50
_RIDGE = 1e-3
"""Pulls towards the drafter's own word where there is hardly anything to learn from."""
_LEAST_SLOPE = 0.05


def fit_calibration(log_q_EKR: torch.Tensor, rank_EK: torch.Tensor) -> Calibration:
    """The calibration under which the observations are most likely (logistic regression, one per depth).

    Args:
        log_q_EKR: log probabilities of each depth's guesses, the most probable first.
        rank_EK: the place of the right token among them; R or more if it was not among them, below 0 if the text had ended.

    A depth counts only where the guesses before it contain the right path, since a node matters only if its parent is accepted.

    Raises:
        TreeError: shapes that do not belong together.
    """
    positions, depths, ranks = log_q_EKR.shape
    if rank_EK.shape != (positions, depths):
        raise TreeError(f"calibration: {tuple(rank_EK.shape)} ranks for {tuple(log_q_EKR.shape)} guesses; expected one per depth")
    lines = []
    reached_E = torch.ones(positions, dtype=torch.bool)
    for k in range(depths):
        counted_E = reached_E & (rank_EK[:, k] >= 0)
        odds_M = log_odds(log_q_EKR[counted_E, k]).double().flatten()
        right_M = (rank_EK[counted_E, k][:, None] == torch.arange(ranks)).double().flatten()
        lines.append(_line(odds_M, right_M))
        reached_E = counted_E & (rank_EK[:, k] < ranks)
    return Calibration(tuple(slope for slope, _ in lines), tuple(offset for _, offset in lines))


def _line(odds_M: torch.Tensor, right_M: torch.Tensor) -> tuple[float, float]:
    """Newton's method on the penalised log-likelihood, from slope 1 and offset 0. Odds that are no numbers are left out."""
    finite_M = odds_M.isfinite()
    odds_M, right_M = odds_M[finite_M], right_M[finite_M]
    start_2 = torch.tensor([1.0, 0.0], dtype=torch.float64)
    line_2 = start_2.clone()
    features_M2 = torch.stack([odds_M, torch.ones_like(odds_M)], -1)
    penalty_22 = torch.eye(2, dtype=torch.float64) * _RIDGE

    def loss(line_2: torch.Tensor) -> torch.Tensor:
        scores_M = features_M2 @ line_2
        nats = torch.nn.functional.softplus(scores_M) - right_M * scores_M
        return nats.sum() + 0.5 * _RIDGE * ((line_2 - start_2) ** 2).sum()

    for _ in range(_ITERATIONS):
        chance_M = torch.sigmoid(features_M2 @ line_2)
        slope_2 = features_M2.T @ (chance_M - right_M) + _RIDGE * (line_2 - start_2)
        curve_22 = (features_M2 * (chance_M * (1 - chance_M))[:, None]).T @ features_M2 + penalty_22
        step_2 = torch.linalg.solve(curve_22, slope_2)
        size = 1.0
        while loss(line_2 - size * step_2) > loss(line_2) and size > 1e-6:  # Newton overshoots far from the optimum
            size /= 2
        line_2 = line_2 - size * step_2
        if float(step_2.abs().max()) * size < 1e-8:
            break
    return max(_LEAST_SLOPE, float(line_2[0])), float(line_2[1])
