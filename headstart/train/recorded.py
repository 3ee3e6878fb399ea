"""Answers that an earlier run recorded, with their hidden states: other heads or the model itself can learn from them."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch

from headstart.errors import DataError
from headstart.models.protocol import BaseModel
from headstart.train.account import Lost
from headstart.train.generation import ROWS, OnTokens
from headstart.train.plan import Cache
from headstart.train.shards import CACHE, NO_STATES, Answer, Shard, read_shard, shard_path
from headstart.train.states import ComputedStates

LEAST_ALIKE = 0.9
"""Cosine of a model's states and of those that it recorded, at least: rounding changes them a little, other weights a lot."""
_COMPARED = 64  # states


def read_recorded(directory: Path, *, hidden_size: int, vocab_size: int, states: bool = True) -> list[Shard]:
    """All shards of ``directory``, for a model of these sizes. ``states`` says that their states are needed.

    Raises:
        DataError: there are none, one is broken, or they belong to a model of other sizes.
    """
    shards: list[Shard] = []
    while (path := shard_path(directory, len(shards))).exists():
        shards.append(_fitting(read_shard(path, states=states), hidden_size, vocab_size))
    if not shards:
        raise DataError(
            f"there are no recorded answers in {directory} (shard-00000.safetensors is missing); name the folder with --shards:"
            " headstart train leaves it in OUTPUT/run/shards"
        )
    return shards


def _fitting(shard: Shard, hidden_size: int, vocab_size: int) -> Shard:
    if not len(shard.hidden_SD):  # answers of one token each, or none kept: states are of no width yet
        shard = replace(shard, hidden_SD=shard.hidden_SD.new_zeros(0, hidden_size))
    top = max((int(ids.max()) for ids in (shard.tokens, shard.prompt_tokens) if len(ids)), default=0)
    if shard.hidden_SD.shape[1] != hidden_size or top >= vocab_size:
        raise DataError(
            f"{shard.path} was recorded with another model: its states have {shard.hidden_SD.shape[1]} numbers and ids up to"
            f" {top}; expected {hidden_size} and ids below {vocab_size}. Name this model's own answers with --shards"
        )
    return shard


class Recorded:
    """A source whose answers lie in the shards of another run already, so that it is never asked for any."""

    def __init__(self, directory: Path, model: BaseModel, asked: Literal["auto", "disk", "none"]) -> None:
        """``asked`` says where hidden states are to come from; "auto" takes the recorded ones if there are any.

        Raises:
            DataError: as :func:`read_recorded`, and if the recorded states are not this model's.
        """
        self._directory = directory
        self.shards = read_recorded(
            directory, hidden_size=model.facts.hidden_size, vocab_size=model.facts.vocab_size, states=asked == "disk"
        )
        self.lost: Mapping[int, Lost] = {}
        stateless = any(shard.metadata.get(CACHE) == NO_STATES for shard in self.shards)
        self.cache: Cache = "none" if asked == "none" or stateless else "disk"
        if self.cache == "disk":
            check_alike(_alike(model, self.shards[0]), directory, model.facts.name)

    @property
    def total(self) -> int:
        return sum(self._rows(shard) for shard in self.shards)

    @property
    def shard_size(self) -> int:
        """Conversations of each shard but the last."""
        return self._rows(self.shards[0])

    @property
    def tokens(self) -> int:
        """Answer tokens."""
        return sum(len(shard.tokens) for shard in self.shards)

    def conversations(self, first: int, count: int, on_tokens: OnTokens) -> list[list[Answer]]:
        raise DataError(
            f"{shard_path(self._directory, first // self.shard_size)} has gone since the run began; put it back, or start anew"
        )

    def rate(self, seconds: float) -> float:
        raise AssertionError("nothing is written, so that no time goes into it")

    def _rows(self, shard: Shard) -> int:
        return int(shard.metadata.get(ROWS, len(set(shard.conversation_ids))))


def check_alike(cosine: float, directory: Path, model: str) -> None:
    """Compare a model's states with the recorded ones; where there was nothing to compare, ``cosine`` is NaN.

    Raises:
        DataError: they are another model's.
    """
    if cosine < LEAST_ALIKE:
        raise DataError(
            f"the answers in {directory} were recorded with another model than {model}: its hidden states are unlike those recorded"
            f" (cosine {cosine:.2f}, expected at least {LEAST_ALIKE}). Name this model's own with --shards"
        )


def _alike(model: BaseModel, shard: Shard) -> float:
    """Mean cosine over the first answers' states."""
    count = min(_COMPARED, len(shard.hidden_SD))
    if not count or not shard.prompt_lengths[0]:
        return math.nan
    computed_MD = ComputedStates(model, [shard])(torch.zeros(count, dtype=torch.int64), torch.arange(count))
    return float(torch.cosine_similarity(computed_MD.float(), shard.hidden_SD[:count].float(), dim=-1).mean())
