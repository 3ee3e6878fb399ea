"""Keeps the hidden states that the base model computes anyway while it writes, so that training never runs it again.

Shapes: T recorded states, M nodes of a step, D hidden.
"""

from collections.abc import Sequence

import torch

from headstart.drafters.protocol import DrafterFacts
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree

RECORD = "record"
"""The recorder's name among the engine's drafters."""


class Recorder:
    """A drafter that proposes nothing and listens. State i of a row is the one that predicted the row's i-th new id."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._states: dict[int, list[torch.Tensor]] = {}

    @property
    def facts(self) -> DrafterFacts:
        return DrafterFacts(name=RECORD, depth=0, hidden="last")

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._states[row] = [hidden_TD[-1:].clone()]

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        return CandidateTree.roots_only(torch.tensor([row.generated[-1] for row in sampling], device=self._device))

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        self._states[row].append(hidden_MD.clone())  # a view would keep the whole batch's states alive

    def stop(self, row: int) -> None:
        """Nothing is forgotten here: whoever asked for the row takes its states after the end."""

    def take(self, row: int, count: int) -> torch.Tensor:
        """The first ``count`` states of a finished row, T x D on the CPU; the row is forgotten."""
        states_TD = torch.cat(self._states.pop(row))
        assert len(states_TD) >= count, f"row {row} has {len(states_TD)} recorded states, {count} were asked for"
        return states_TD[:count].cpu()

    def forget(self, row: int) -> None:
        """Drop what was recorded for a row that nobody will ask for."""
        self._states.pop(row, None)
