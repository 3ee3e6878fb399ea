"""Where training takes hidden states from: the shards of the run, or the base model, which is run over the answers once more.

Shapes: T positions of a text, M states asked for, D hidden.
"""

from collections.abc import Sequence
from typing import Protocol

import torch

from headstart.errors import DataError
from headstart.models.protocol import BaseModel
from headstart.train.shards import Shard

_CHUNK = 512


class States(Protocol):
    """The states of chosen shards."""

    @property
    def by_answer(self) -> bool:
        """Whether a whole answer costs as little as one of its states, so that batches should be made of whole answers."""

    def __call__(self, shard_M: torch.Tensor, row_M: torch.Tensor) -> torch.Tensor:
        """State ``row_M`` of shard ``shard_M``, M x D on the CPU; rows count the states of all answers of a shard in order."""


class StoredStates:
    """States that lie in the shards' files."""

    by_answer = False

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._hidden = [shard.hidden_SD for shard in shards]
        # a shard whose answers are all of one token has no states, and no width
        self._like = next((states_SD for states_SD in self._hidden if len(states_SD)), self._hidden[0])

    def __call__(self, shard_M: torch.Tensor, row_M: torch.Tensor) -> torch.Tensor:
        hidden_MD = torch.empty(len(row_M), self._like.shape[1], dtype=self._like.dtype)
        for shard in shard_M.unique().tolist():
            where = (shard_M == shard).nonzero().squeeze(-1)
            hidden_MD[where] = self._hidden[shard][row_M[where]]
        return hidden_MD


class ComputedStates:
    """States that the base model computes when they are asked for, an answer at a time; only the last call's are kept."""

    by_answer = True

    def __init__(self, model: BaseModel, shards: Sequence[Shard]) -> None:
        self._model, self._shards = model, shards
        self._places = [list(shard.places()) for shard in shards]
        self._state_at = [torch.tensor([place.states.start for place in places]) for places in self._places]
        self._recent: dict[tuple[int, int], torch.Tensor] = {}

    def __call__(self, shard_M: torch.Tensor, row_M: torch.Tensor) -> torch.Tensor:
        facts = self._model.facts
        hidden_MD = torch.empty(len(row_M), facts.hidden_size, dtype=facts.dtype)
        used: dict[tuple[int, int], torch.Tensor] = {}
        for shard in shard_M.unique().tolist():
            where = (shard_M == shard).nonzero().squeeze(-1)
            rows = row_M[where]
            answers = torch.searchsorted(self._state_at[shard], rows, right=True) - 1
            for answer in answers.unique().tolist():
                known = self._recent.get((shard, answer))
                states_TD = self._compute(shard, answer) if known is None else known
                used[shard, answer] = states_TD
                among = answers == answer
                hidden_MD[where[among]] = states_TD[rows[among] - self._state_at[shard][answer]]
        self._recent = used
        return hidden_MD

    def _compute(self, number: int, answer: int) -> torch.Tensor:
        shard, place = self._shards[number], self._places[number][answer]
        prompt = shard.prompt_tokens[place.prompt].tolist()
        if not prompt:
            raise DataError(f"an answer in {shard.path} has no prompt, so no state predicted its first token; make the data anew")
        # what the last two tokens' states would predict is no head's business: one has no successor, one no label
        return states_of(self._model, [*prompt, *shard.tokens[place.answer][:-2].tolist()])[len(prompt) - 1 :]


@torch.inference_mode()
def states_of(model: BaseModel, ids: Sequence[int]) -> torch.Tensor:
    """Hidden states of a text's positions, T x D on the CPU."""
    row = model.cache.add_row(len(ids))
    parts = []
    try:
        for start in range(0, len(ids), _CHUNK):
            chunk = torch.tensor([ids[start : start + _CHUNK]], device=model.facts.device)
            parts.append(model.prefill(chunk, row, [chunk.shape[1]])[0])
    finally:
        model.cache.release_row(row)
    return torch.cat(parts).cpu()
