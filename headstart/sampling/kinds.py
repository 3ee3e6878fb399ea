"""Whether a value is of the kind that a parameter wants."""

from collections.abc import Iterable
from numbers import Integral, Real

from headstart.errors import InvalidParameterError


def check_number(name: str, value: object, *, expected: str = "a number") -> None:
    """Raises InvalidParameterError unless it is a real number; True and False are none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidParameterError(f"{name} is {value!r}; expected {expected}")


def is_whole(value: object) -> bool:
    """Whether it is an int; True and False are none."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def check_whole(name: str, value: object, *, expected: str = "a whole number") -> None:
    """Raises InvalidParameterError unless it is an int; True and False are none."""
    if not is_whole(value):
        raise InvalidParameterError(f"{name} is {value!r}; expected {expected}")


def check_choice(name: str, value: object) -> None:
    """Raises InvalidParameterError unless it is True or False."""
    if not isinstance(value, bool):
        raise InvalidParameterError(f"{name} is {value!r}; expected True or False")


def check_list(name: str, value: object, kinds: type | tuple[type, ...], *, expected: str) -> None:
    """Raises InvalidParameterError unless it is a list, or the like, of values of one of these kinds."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise InvalidParameterError(f"{name} is {value!r}; expected {expected}")
    for each in value:
        if not isinstance(each, kinds) or isinstance(each, bool):
            raise InvalidParameterError(f"{name} holds {each!r}; expected {expected}")
