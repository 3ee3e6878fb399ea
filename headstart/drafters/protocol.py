"""What a drafter is to the engine.

Shapes: T prompt positions, M accepted nodes of a step, D hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import torch

from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree


@dataclass(frozen=True, kw_only=True)
class DrafterFacts:
    """What the engine has to know of a drafter."""

    name: str
    depth: int
    """How many tokens beyond the root it can propose."""
    nodes: int | None = None
    """The largest tree that it proposes, the root included; None is as large as the budget."""
    hidden: Literal["none", "last", "all"] = "last"
    """Which hidden states of the prompt :meth:`Drafter.start` wants."""
    layer: Literal["final", "trunk"] = "final"
    """Where its hidden states are taken: after the final norm, or before the last layer (whose tap it opens)."""
    samples: bool = False
    """Whether it draws candidates at random for rows that have a ``draft_temperature``, and attaches ``CandidateTree.drawn``, as
    ``rejection`` needs them."""


class Drafter(Protocol):
    """Proposes continuations. Rows are named by the engine's request numbers, which are never used twice.

    A drafter never touches the base model's cache, and whatever it proposes changes the speed and never the text.
    """

    @property
    def facts(self) -> DrafterFacts: ...

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        """A prompt, or its next chunk, is in the cache.

        With ``facts.hidden == "all"`` it is called once a chunk with the chunk's ids and hidden states; otherwise once,
        with the whole prompt, and the hidden state of its last position (1 x D).
        """

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        """A tree for each row; row r's root is ``sampling[r].generated[-1]``, the position after it being
        ``sampling[r].prompt_length + len(sampling[r].generated)``."""

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        """A step was accepted: ``hidden_MD[i]`` is the state at path node i (the old root first), ``tokens[i]`` the id that
        follows it; the last token is the next root. Not called for a row that has finished."""

    def stop(self, row: int) -> None:
        """The row finished, failed or was cancelled: forget it. Unknown rows are ignored."""
