"""Passes, seconds and money: the documents' worked numbers."""

import pytest

from headstart.errors import InvalidParameterError
from headstart.tuning.bill import Bill, passes, saved_share


def test_passes() -> None:
    """The article's 100 tokens at L = 2.5; the note's 39 and 34 passes at 70 % and 80 %."""
    assert passes(100, 2.5) == 40
    assert round(passes(100, 2.533)) == 39
    assert round(passes(100, 2.952)) == 34


def test_the_articles_bill() -> None:
    """1,000 hours at $4 are $4,000; 40 % saved are $1,600, which is a speed-up of 5/3."""
    bill = Bill(price=4, hours=1000)
    assert bill.total == 4000
    assert bill.saved(0.4) == 1600
    assert bill.saved(saved_share(5 / 3)) == pytest.approx(1600)


def test_price_of_a_million_tokens() -> None:
    """At 50 tokens/s an hour writes 180,000 tokens: a million take 5.56 hours."""
    assert Bill(price=4).per_million(50) == pytest.approx(4 / 0.18)


def test_a_bill_needs_a_price() -> None:
    for price, hours in ((0.0, 1.0), (float("nan"), 1.0), (float("inf"), 1.0), (4.0, -1.0), (4.0, float("nan"))):
        with pytest.raises(InvalidParameterError, match="expected a price above 0, and no hours below it"):
            Bill(price=price, hours=hours)
