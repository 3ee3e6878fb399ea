"""Intervals of counts, against published values and by enumeration."""

import math

import pytest

from headstart.bench.quality.proportions import paired_difference, wilson


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [(8, 10, 0.4902, 0.9433), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson(right: int, n: int, low: float, high: float) -> None:
    """The last row is Newcombe's (1998) example; the others are solutions of (p - s)^2 = z^2 p (1 - p) / n."""
    found = wilson(right, n)
    assert found is not None
    assert (found.estimate, found.n) == (right / n, n)
    assert found.low == pytest.approx(low, abs=5e-5)
    assert found.high == pytest.approx(high, abs=5e-5)


def test_wilson_holds_the_truth_as_often_as_it_says() -> None:
    """Of 40 questions, each solved with probability 0.3: the probabilities of the counts whose interval holds 0.3, added up. The
    binomial is lumpy, so it is 0.95 only about."""
    held = 0.0
    for right in range(41):
        found = wilson(right, 40)
        assert found is not None
        if found.low <= 0.3 <= found.high:
            held += math.comb(40, right) * 0.3**right * 0.7 ** (40 - right)
    assert 0.93 < held < 0.97


def test_paired_difference() -> None:
    """Five gained and one lost of 40: middle 4/42, reach 1.96 sqrt(7 - 16/42) / 42."""
    found = paired_difference(5, 1, 40)
    assert found is not None
    assert (found.estimate, found.n) == (0.1, 40)
    assert found.low == pytest.approx(-0.0248, abs=1e-4)
    assert found.high == pytest.approx(0.2153, abs=1e-4)
    same = paired_difference(0, 0, 40)
    assert same is not None
    assert same.low == -same.high == pytest.approx(-1.95996 / 42, abs=1e-5)  # no difference seen, yet one can be there
    assert paired_difference(3, 3, 6).low == -paired_difference(3, 3, 6).high  # type: ignore[union-attr]


def test_nothing_counted() -> None:
    assert wilson(0, 0) is None
    assert paired_difference(0, 0, 0) is None
