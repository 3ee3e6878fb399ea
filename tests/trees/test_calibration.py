"""What a drafter's probabilities are worth."""

import math

import pytest
import torch

from headstart.errors import TreeError
from headstart.trees.calibration import Calibration, log_odds


def test_none_takes_the_probabilities_as_they_are() -> None:
    log_q = torch.tensor([[[0.5, 0.25, 0.001]]]).log()
    assert torch.allclose(Calibration.none(1).log_worth(log_q), log_q, atol=1e-5)


def test_a_line_in_log_odds_per_depth() -> None:
    """0.5 has log-odds 0: with offset log(1/4) it becomes odds of 1 to 4, so 0.2. 0.8 has odds 4: slope 2 makes 16, 16/17."""
    log_q = torch.tensor([[[0.5], [0.8]]]).log()
    worth = Calibration((1.0, 2.0), (math.log(0.25), 0.0)).log_worth(log_q).exp()
    assert worth[0, 0, 0] == pytest.approx(0.2, abs=1e-6)
    assert worth[0, 1, 0] == pytest.approx(16 / 17, abs=1e-6)


def test_order_and_bounds_are_kept() -> None:
    log_q = torch.linspace(-90, 0, 200).flip(0).expand(1, 2, -1)
    worth = Calibration((0.3, 1.9), (2.0, -1.0)).log_worth(log_q)
    assert torch.isfinite(worth).all()
    assert (worth <= 0).all()
    assert (worth.diff(dim=-1) <= 0).all()


def test_certainty_is_finite() -> None:
    assert torch.isfinite(log_odds(torch.tensor([0.0, 1e-7, -1e4]))).all()


@pytest.mark.parametrize(
    ("slope", "offset"), [((0.0,), (0.0,)), ((-1.0,), (0.0,)), ((float("nan"),), (0.0,)), ((1.0,), (float("inf"),))]
)
def test_values_out_of_range(slope: tuple[float, ...], offset: tuple[float, ...]) -> None:
    with pytest.raises(TreeError, match="slopes have to be above 0"):
        Calibration(slope, offset)


def test_one_of_each_per_depth() -> None:
    with pytest.raises(TreeError, match="2 slopes and 1 offsets"):
        Calibration((1.0, 1.0), (0.0,))


def test_to_and_from_a_dict() -> None:
    line = Calibration((0.5, 2.0), (-1.0, 0.25))
    assert Calibration.from_dict(line.to_dict()) == line
    with pytest.raises(KeyError):
        Calibration.from_dict({"slope": [1.0]})
    with pytest.raises(TypeError):
        Calibration.from_dict({"slope": 1.0, "offset": 2.0})
