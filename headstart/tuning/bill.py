"""What decoding takes in passes, seconds and money."""

from dataclasses import dataclass
from math import inf

from headstart.errors import InvalidParameterError


def passes(tokens: float, tokens_per_step: float) -> float:
    """Passes of the model over ``tokens`` tokens; plain decoding takes one each."""
    return tokens / tokens_per_step


def saved_share(speedup: float) -> float:
    """Of the hours that plain decoding takes, how many are saved; below 0 where it is slower."""
    return 1 - 1 / speedup


@dataclass(frozen=True, kw_only=True)
class Bill:
    """Machines paid by the hour.

    Raises:
        InvalidParameterError: a price that is not above 0, or hours below it.
    """

    price: float
    """Of an hour."""
    hours: float = 0.0
    """That plain decoding takes."""

    def __post_init__(self) -> None:
        if not 0 < self.price < inf or not 0 <= self.hours < inf:
            raise InvalidParameterError(f"{self.hours} hours at {self.price}; expected a price above 0, and no hours below it")

    @property
    def total(self) -> float:
        return self.price * self.hours

    def saved(self, share: float) -> float:
        """What a share of the hours costs."""
        return self.total * share

    def per_million(self, tokens_per_second: float) -> float:
        """The price of a million tokens."""
        return self.price / 3600 / tokens_per_second * 1e6
