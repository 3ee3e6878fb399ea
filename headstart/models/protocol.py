"""What a base model is to the engine. Two implementations stand behind it: the transformers adapter and the native decoder.

Shapes: B rows, N tree nodes, T prompt positions of a chunk, V vocabulary (or the part of it that was asked for), D hidden.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from headstart.models.slot_cache import SlotCache
from headstart.models.tap import Tap
from headstart.trees.candidate import CandidateTree

Projection = Callable[[torch.Tensor], torch.Tensor]
"""Maps hidden states (..., D) to logits (..., V), logit scale and soft-cap included."""


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """What everything above the model may know of it."""

    name: str
    """Where it came from: a hub id, a path, or the architecture's name."""
    vocab_size: int
    """Rows of the LM head; ids run from 0 to this, exclusive."""
    hidden_size: int
    context_length: int
    """Positions that the model can tell apart."""
    eos_ids: tuple[int, ...]
    """Ids that end a text: generation config, config and tokenizer together, sorted."""
    dtype: torch.dtype
    device: torch.device
    """Where ids go in and hidden states come out."""
    implementation: str
    """"transformers" or "native"."""
    weights: str | None = None
    """The format that the matrices are rounded to ("int8", "int4"); None where they are the model's own."""
    softcap: float | None = None
    """What bounds the logits; None where nothing does."""
    deepest_tree: int | None = None
    """How deep a tree :meth:`BaseModel.verify` takes at most; None is any depth."""


class BaseModel(Protocol):
    """The model whose output is wanted, with the cache of the rows that it is working on."""

    @property
    def cache(self) -> SlotCache: ...

    @property
    def facts(self) -> ModelFacts: ...

    @property
    def tap(self) -> Tap:
        """Where the states before the last layer can be had, as soon as it is open."""

    def prefill(self, ids_BT: torch.Tensor, first_row: int, counts_B: Sequence[int]) -> torch.Tensor:
        """Append a chunk of prompt to rows ``first_row`` to ``first_row + B`` and move their lengths by ``counts_B``.

        Ids beyond a row's count are padding (-1). Returns hidden states B x T x D; those of padding mean nothing.
        """

    def verify(self, tree: CandidateTree) -> torch.Tensor:
        """One pass over the trees of rows 0 to B; node j of row b stands at position ``cache.lengths[b] + depth``.

        Writes the nodes' keys and values behind each row's length and leaves the length where it is (see
        :meth:`SlotCache.commit`). Returns hidden states B x N x D.
        """

    def lm_head(self, hidden: torch.Tensor) -> torch.Tensor:
        """Logits (..., V) of hidden states (..., D)."""

    def projection(self, ids: torch.Tensor | None = None, *, rough: bool = False) -> Projection:
        """The LM head over the given ids alone (all of them: None), as a function that keeps what it needs.

        ``rough`` allows 8 bits where they are faster: enough to guess by, never to choose by.
        """

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """Input embeddings (..., D) of ids (...)."""
