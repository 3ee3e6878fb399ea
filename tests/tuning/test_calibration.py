"""Fitting what probabilities are worth."""

import pytest
import torch

from headstart.errors import TreeError
from headstart.trees.calibration import Calibration
from headstart.tuning.calibration import fit_calibration


def observed(true: Calibration, positions: int, ranks: int = 3) -> tuple[torch.Tensor, torch.Tensor]:
    """Guesses of random confidence that are right as often as ``true`` says; the chances of the ranks are kept below 1 together."""
    generator = torch.Generator().manual_seed(0)
    depths = len(true.slope_K)
    share = torch.rand(positions, depths, 1, generator=generator) * 0.5
    log_q = (share * torch.tensor([1.0, 0.3, 0.1])[:ranks]).log()
    chance = true.log_worth(log_q).exp().cumsum(-1)
    assert float(chance.max()) < 1
    draw = torch.rand(positions, depths, 1, generator=generator)
    return log_q, (draw >= chance).sum(-1)


def test_the_line_that_made_the_observations_is_found() -> None:
    """Standard errors at 40,000 positions are about 0.01 for the slope and 0.03 for the offset: five of them are allowed."""
    true = Calibration((1.0, 0.7), (0.0, -0.8))
    fitted = fit_calibration(*observed(true, 40_000))
    assert fitted.slope_K == pytest.approx(true.slope_K, abs=0.05)
    assert fitted.offset_K == pytest.approx(true.offset_K, abs=0.15)


def test_only_positions_whose_path_was_guessed_count() -> None:
    """Depth 2 is right wherever depth 1 was, and never elsewhere: once depth 1 is right it is certain."""
    log_q = torch.tensor([0.6, 0.2]).log().expand(400, 2, 2)
    first = torch.arange(400) % 2 * 2  # rank 0, or 2: not among the guesses
    worth = fit_calibration(log_q, torch.stack([first, first], 1)).log_worth(log_q[:1]).exp()
    assert worth[0, 0, 0] == pytest.approx(0.5, abs=0.02)
    assert worth[0, 1, 0] > 0.95


def test_nothing_observed_leaves_the_drafters_word() -> None:
    log_q = torch.tensor([0.6, 0.2]).log().expand(5, 1, 2)
    assert fit_calibration(log_q, torch.full((5, 1), -1)) == Calibration.none(1)


def test_what_is_no_number_is_left_out() -> None:
    """Guesses of heads that overflowed now and then, and hopeless ones, do not spoil what the others say."""
    log_q, ranks = observed(Calibration((1.0, 0.7), (0.0, -0.8)), 2000)
    broken_E = torch.cat([log_q, torch.full((50, 2, 3), torch.nan), torch.full((50, 2, 3), -torch.inf)])
    with_broken = fit_calibration(broken_E, torch.cat([ranks, torch.zeros(100, 2, dtype=torch.int64)]))
    assert with_broken.slope_K == pytest.approx(fit_calibration(log_q, ranks).slope_K, abs=1e-6)


def test_shapes_that_do_not_belong_together() -> None:
    with pytest.raises(TreeError, match="one per depth"):
        fit_calibration(torch.zeros(5, 2, 3), torch.zeros(5, 3, dtype=torch.int64))
