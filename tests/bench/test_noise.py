"""How far the machine agrees with itself."""

import pytest

from headstart.bench.contestants import AGAIN
from headstart.bench.noise import noise
from tests.bench.made_up import run, sample


def pairs(*seconds: float) -> list:  # type: ignore[type-arg]
    return [sample(str(i), {"plain": run(range(5), 4.0), AGAIN: run(range(5), each)}) for i, each in enumerate(seconds)]


def test_a_quiet_machine() -> None:
    found = noise([*pairs(4.0, 4.1, 3.9), sample("x", {"plain": run(range(5), 4.0)})])
    assert found["repeats"] == 3
    assert found["median_difference"] == pytest.approx(0.025)  # 4.1 over 4; 4 over 3.9 is 0.0256
    assert found["ratio"]["estimate"] == 1.0
    assert not found["noisy"]


def test_a_noisy_machine() -> None:
    """Half as fast and twice as fast are as far apart."""
    found = noise(pairs(2.0, 8.0, 4.0))
    assert found["median_difference"] == pytest.approx(1.0)
    assert found["noisy"]


def test_nobody_looked() -> None:
    assert noise([]) == {"repeats": 0, "median_difference": None, "ratio": None, "noisy": False}
