import pytest

from headstart.train.schedule import learning_rate


def test_rises_for_three_percent_and_falls_as_a_cosine() -> None:
    rates = [learning_rate(step, 1000, 2.0) for step in range(1000)]
    assert rates[0] == pytest.approx(2.0 / 30)  # 3 % of 1000 steps are 30
    assert rates[29] == 2.0
    assert rates[30 + 485] == pytest.approx(1.0)  # half of the peak in the middle of the remaining 970
    assert 0 < rates[-1] < 1e-4
    assert all(a >= b for a, b in zip(rates[29:], rates[30:], strict=False))


def test_a_run_of_one_step_learns() -> None:
    assert learning_rate(0, 1, 0.5) == 0.5
