"""A causal language model with further output heads, of one of three kinds.

Shapes: B texts, T positions, D hidden, V vocabulary.
"""

from typing import Any, Protocol

import torch
from torch import nn
from transformers import PreTrainedModel

from headstart.drafters.heads import MedusaHeads
from headstart.drafters.mtp_heads import MtpHeads
from headstart.train.mtp.layer_heads import LayerHeads
from headstart.train.mtp.objective import Trunk
from headstart.train.mtp.small_heads import SmallHeads


class HeadedModel(Protocol):
    """The parts that the objective wants."""

    model: PreTrainedModel
    layers: nn.ModuleList
    """The heads after the first."""
    vocab_size: int

    def trunk(self, ids_BT: torch.Tensor) -> Trunk:
        """A pass up to where the heads begin, and the first head's."""

    def unembed(self, states: torch.Tensor) -> torch.Tensor:
        """Logits (..., V) of what a head gives, (..., D)."""

    def heads(self, base_model: str) -> MtpHeads | MedusaHeads:
        """The heads after the first, as a drafter wants them."""


def headed(model: PreTrainedModel, count: int, kind: str) -> HeadedModel:
    """The model with ``count`` heads beside its own."""
    return LayerHeads(model, count) if kind == "layer" else SmallHeads(model, count, residual=kind == "residual")


def matrix_parameters(model: HeadedModel) -> tuple[int, int]:
    """Numbers in the matrices that a position is multiplied by: those of the trunk and the first head, and those of each further
    head; the LM head is in both."""
    embeddings: Any = model.model.get_input_embeddings()
    unembedding: Any = model.model.get_output_embeddings()
    mine = {id(p): p for p in model.model.parameters() if p.dim() > 1 and p is not embeddings.weight}
    mine[id(unembedding.weight)] = unembedding.weight
    layer = sum(p.numel() for p in model.layers[0].parameters() if p.dim() > 1) if len(model.layers) else 0
    return sum(p.numel() for p in mine.values()), layer + unembedding.weight.numel()
