"""How large the hidden states of a run become on disk, and whether they are kept there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from headstart.errors import TrainingError
from headstart.models.protocol import BaseModel
from headstart.train.generation import OnTokens, Source
from headstart.train.plan import Cache
from headstart.train.shards import Answer

MARGIN = 1.1
"""What else a run writes: prompts' ids, checkpoints of heads, logs."""
COMPUTED = "no hidden states are stored: the model computes them in every step, which is slower"
"""What to say of a run that keeps none."""
_ID_BYTES = 4


@dataclass(frozen=True)
class CacheSize:
    """An estimate, made before anything is written. Soft targets add nothing: they are computed from the states."""

    tokens: int
    """Answer tokens; the most that there may be."""
    hidden_size: int
    dtype: torch.dtype

    @property
    def bytes(self) -> int:
        return self.tokens * (self.hidden_size * self.dtype.itemsize + _ID_BYTES)

    def fits(self, free: int) -> bool:
        return self.bytes * MARGIN <= free

    def line(self, free: int, where: Path) -> str:
        return (
            f"hidden states of up to {self.tokens:,} answer tokens ({self.hidden_size} x {self.dtype.itemsize} bytes each) and"
            f" their ids: {_size(self.bytes)}; {_size(free)} are free in {where}"
        )


def choose_cache(asked: Literal["auto", "disk", "none"], size: CacheSize, free: int, where: Path) -> Cache:
    """What ``asked`` comes to with ``free`` bytes on the disk of ``where``.

    Raises:
        TrainingError: states were to lie on the disk and do not fit.
    """
    if asked == "none" or (asked == "auto" and not size.fits(free)):
        return "none"
    if not size.fits(free):
        raise TrainingError(
            f"{size.line(free, where)}. With a tenth to spare that does not fit. Make room, choose an output directory on a larger"
            " disk, ask for fewer --tokens or --minutes, or train without stored states by --cache none: the model then runs in"
            " every step"
        )
    return "disk"


class Stateless:
    """A source whose answers leave their states behind."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.total, self.lost = source.total, source.lost

    def conversations(self, first: int, count: int, on_tokens: OnTokens) -> list[list[Answer]]:
        return [[answer.without_states() for answer in group] for group in self._source.conversations(first, count, on_tokens)]

    def rate(self, seconds: float) -> float:
        return self._source.rate(seconds)


def cache_size(model: BaseModel, tokens: int) -> CacheSize:
    return CacheSize(tokens, model.facts.hidden_size, model.facts.dtype)


def _size(count: int) -> str:
    return f"{count / 1e9:,.2f} GB" if count >= 10**7 else f"{count / 1e6:,.2f} MB"
