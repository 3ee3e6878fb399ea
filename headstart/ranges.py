"""Whether numbers that a caller chose lie where they may."""

import math

from headstart.errors import InvalidParameterError


def check_least(options: object, least: int, *names: str) -> None:
    """Raises InvalidParameterError where one of these attributes is below ``least``; None is a choice not made."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < least:
            raise InvalidParameterError(f"{name} is {value}; expected at least {least}")


def check_above_zero(options: object, *names: str) -> None:
    """Raises InvalidParameterError where one of these attributes is no finite number above 0; None is a choice not made."""
    for name in names:
        value = getattr(options, name)
        if value is not None and not 0 < value < math.inf:
            raise InvalidParameterError(f"{name} is {value}; expected a number above 0")


def check_share(options: object, *names: str) -> None:
    """Raises InvalidParameterError where one of these attributes does not lie between 0 and 1, both included."""
    for name in names:
        value = getattr(options, name)
        if not 0 <= value <= 1:
            raise InvalidParameterError(f"{name} is {value}; expected 0 to 1")
