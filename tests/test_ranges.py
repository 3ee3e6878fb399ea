"""Numbers that a caller chose, and where they may lie."""

from types import SimpleNamespace

import pytest

from headstart.errors import InvalidParameterError
from headstart.ranges import check_above_zero, check_least, check_share


def test_what_may_pass() -> None:
    options = SimpleNamespace(rows=1, nothing=None, rate=1e-9, share=0, whole=1.0)
    check_least(options, 1, "rows", "nothing")
    check_above_zero(options, "rate", "nothing")
    check_share(options, "share", "whole")


def test_what_may_not() -> None:
    with pytest.raises(InvalidParameterError, match=r"^rows is 0; expected at least 1$"):
        check_least(SimpleNamespace(good=2, rows=0), 1, "good", "rows")
    for rate in (0, -1.0, float("inf"), float("nan")):
        with pytest.raises(InvalidParameterError, match=rf"^rate is {rate}; expected a number above 0$"):
            check_above_zero(SimpleNamespace(rate=rate), "rate")
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(InvalidParameterError, match=rf"^share is {share}; expected 0 to 1$"):
            check_share(SimpleNamespace(share=share), "share")
