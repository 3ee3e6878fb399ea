"""What a run of tuning looks at."""

from dataclasses import dataclass

from headstart.errors import InvalidParameterError

SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 192, 256)
"""Nodes that are looked at, root included."""


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """What to look at and for how long."""

    batch: tuple[int, ...] = (1, 2, 4, 8)
    """Numbers of texts decoded at once to choose for."""
    max_nodes: int = 64
    """The largest tree to look at, the root included."""
    tokens: int = 128
    """Tokens to write after each prompt."""
    temperature: float = 0.0
    """Temperature of the texts."""
    seed: int = 0
    """Decides which prompts are learned from and, above temperature 0, what is drawn."""
    quick: bool = False
    """Fewer prompts, sizes and repeats: a minute instead of several, and less sure."""

    def __post_init__(self) -> None:
        if self.max_nodes < 2:
            raise InvalidParameterError(f"max_nodes is {self.max_nodes}; expected at least 2, the root and a guess")
        if self.max_nodes > SIZES[-1]:
            raise InvalidParameterError(f"max_nodes is {self.max_nodes}; expected at most {SIZES[-1]}")
        if not self.batch or min(self.batch) < 1:
            raise InvalidParameterError(f"batch is {list(self.batch)}; expected numbers of texts from 1, for instance 1,2,4,8")
        if self.tokens < 2:
            raise InvalidParameterError(f"tokens is {self.tokens}; expected at least 2, or there is no step")
