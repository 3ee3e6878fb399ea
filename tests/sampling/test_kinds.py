"""What counts as a number, a whole number, a list."""

from typing import Any

import numpy as np
import pytest

from headstart.errors import InvalidParameterError
from headstart.sampling.kinds import check_choice, check_list, check_number, check_whole


@pytest.mark.parametrize("value", [1, 0.5, np.float32(0.5), np.int64(3)])
def test_numbers(value: Any) -> None:
    check_number("x", value)


@pytest.mark.parametrize("value", [True, "1", None, [1], 1j])
def test_no_numbers(value: Any) -> None:
    with pytest.raises(InvalidParameterError, match=r"x is .*; expected a number"):
        check_number("x", value)


def test_whole_numbers() -> None:
    check_whole("x", 3)
    check_whole("x", np.int64(3))
    for value in (True, 3.0, "3", None):
        with pytest.raises(InvalidParameterError, match=r"x is .*; expected a whole number"):
            check_whole("x", value)


def test_choices() -> None:
    check_choice("x", False)
    for value in (0, "no", None):
        with pytest.raises(InvalidParameterError, match=r"x is .*; expected True or False"):
            check_choice("x", value)


def test_lists() -> None:
    for value in ([1], (2, 3), range(2), {4}, []):
        check_list("x", value, int, expected="a list of ids")
    with pytest.raises(InvalidParameterError, match=r"x is '12'; expected a list of ids"):
        check_list("x", "12", int, expected="a list of ids")  # a string is a list of strings, which nobody means
    with pytest.raises(InvalidParameterError, match=r"x is 3; expected a list of ids"):
        check_list("x", 3, int, expected="a list of ids")
    for value in ([1, "a"], [True]):
        with pytest.raises(InvalidParameterError, match=r"x holds .*; expected a list of ids"):
            check_list("x", value, int, expected="a list of ids")
