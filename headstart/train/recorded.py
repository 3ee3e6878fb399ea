"""Answers that an earlier run recorded, with their hidden states: other heads or the model itself can learn from them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import torch

from headstart.errors import DataError, TrainingError
from headstart.models.protocol import BaseModel
from headstart.train.digest import digest_of_answers
from headstart.train.generation import ROWS
from headstart.train.plan import Cache, Plan
from headstart.train.shards import CACHE, NO_STATES, Shard, read_shard, shard_path
from headstart.train.state_cache import COMPUTED
from headstart.train.states import ComputedStates

LEAST_ALIKE = 0.9
"""Cosine of a model's states and of those that it recorded, at least: rounding changes them a little, other weights a lot."""
_COMPARED = 64  # states


def read_recorded(directory: Path, *, hidden_size: int, vocab_size: int, states: bool = True) -> list[Shard]:
    """All shards of ``directory``, for a model of these sizes. ``states`` says that their states are needed.

    Raises:
        DataError: there are none, one is missing among them or broken, or they belong to a model of other sizes.
    """
    there = sorted(directory.glob(f"shard-{'[0-9]' * 5}.safetensors"))
    if not there:
        raise DataError(
            f"there are no recorded answers in {directory} ({shard_path(directory, 0).name} is missing); name the folder with"
            " --shards: headstart train leaves it in OUTPUT/run/shards"
        )
    for number, path in enumerate(there):
        if path != (wanted := shard_path(directory, number)):
            raise DataError(
                f"{wanted} is missing, and {there[-1].name} comes after it; copy it again, or have the run that recorded it make it"
                " anew by --resume"
            )
    return [_fitting(read_shard(path, states=states), hidden_size, vocab_size) for path in there]


def enough(shards: Sequence[Shard], tokens: int) -> list[Shard]:
    """The first shards, so many that they have ``tokens`` answer tokens; all of them where there are fewer."""
    taken: list[Shard] = []
    while len(taken) < len(shards) and sum(len(shard.tokens) for shard in taken) < tokens:
        taken.append(shards[len(taken)])
    return taken


def check_given(shards: Sequence[Shard], plan: Plan, run: Path) -> None:
    """Raises TrainingError if these are not the answers that the run in ``run`` was started with."""
    no_states = plan.cache == "disk" and any(shard.metadata.get(CACHE) == NO_STATES for shard in shards)
    if no_states or plan.given not in ("", digest_of_answers(shards)):
        raise TrainingError(
            f"the answers in {plan.options['shards']} are not those that the run in {run} was started with; put them back, or start"
            " anew in an empty directory"
        )


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
    """Answers that lie in the shards of another run already."""

    def __init__(self, directory: Path, model: BaseModel, asked: Literal["auto", "disk", "none"]) -> None:
        """``asked`` says where hidden states are to come from; "auto" takes the recorded ones if there are any.

        Raises:
            DataError: as :func:`read_recorded`, and if the recorded states are not this model's.
        """
        self._directory, self._model = directory, model.facts.name
        self.shards = read_recorded(
            directory, hidden_size=model.facts.hidden_size, vocab_size=model.facts.vocab_size, states=asked == "disk"
        )
        stateless = any(shard.metadata.get(CACHE) == NO_STATES for shard in self.shards)
        self.cache: Cache = "none" if asked == "none" or stateless else "disk"
        cosine = _alike(model, self.shards)  # also where states are computed anew: the ids are another model's as well
        self._compared = not math.isnan(cosine)
        check_alike(cosine, directory, self._model)

    @property
    def total(self) -> int:
        """Conversations."""
        return sum(self._rows(shard) for shard in self.shards)

    @property
    def shard_size(self) -> int:
        """Conversations of each shard but the last."""
        return self._rows(self.shards[0])

    @property
    def tokens(self) -> int:
        """Answer tokens."""
        return sum(len(shard.tokens) for shard in self.shards)

    def lines(self, asked: int | None) -> list[str]:
        """What to say of them where so many answer tokens were ``asked`` for, or all."""
        taken = sum(len(shard.tokens) for shard in enough(self.shards, self.tokens if asked is None else asked))
        lines = [f"{self.tokens:,} answer tokens are recorded in {self._directory}, {taken:,} are taken"]
        if asked is not None and asked > self.tokens:
            lines[0] += f", fewer than the {asked:,} asked for"
        theirs = self.shards[0].metadata.get("model", "one that they do not name")
        if not self._compared and theirs != self._model:
            lines.append(
                f"without recorded states nothing tells whether these answers are this model's: it is {self._model}, and they were"
                f" recorded with {theirs}"
            )
        return lines if self.cache == "disk" else [*lines, COMPUTED]

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


def _alike(model: BaseModel, shards: Sequence[Shard]) -> float:
    """Mean cosine over the states of the first answers that have some, and a prompt to compute them from; NaN without any."""
    for shard in shards:
        prompted = [place.states for place in shard.places() if place.num_states and place.prompt.stop > place.prompt.start]
        if len(shard.hidden_SD) and prompted:
            row_M = torch.cat([torch.arange(states.start, states.stop) for states in prompted])[:_COMPARED]
            computed_MD = ComputedStates(model, [shard])(torch.zeros_like(row_M), row_M)
            return float(torch.cosine_similarity(computed_MD.float(), shard.hidden_SD[row_M].float(), dim=-1).mean())
    return math.nan
