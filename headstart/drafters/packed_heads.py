"""Trained heads prepared for drafting on a CPU, where a product over few rows is bound by reading the matrix.

One batched product for all heads reads at half the speed of prepacked ones here, so each head's matrices are packed by themselves;
the largest products, the conditioning layer and the projection, stay one for all heads. Where the processor has 8-bit products
bfloat16 weights are rounded to those, which halves what is read. Guesses need no more: on 60 Spec-Bench questions tokens per step
stayed within 0.2 %, and the base model decides all the same.

Shapes: B rows, K heads, D hidden, F width of the conditioning layer, V projected vocabulary, W narrow width of low-rank
projections.
"""

import torch
import torch.nn.functional as F

from headstart.drafters.heads import MedusaHeads
from headstart.drafters.low_rank import LowRankCorrection, Product
from headstart.models.int8_linear import Int8Linear, int8_fault
from headstart.models.packed_linear import PackedLinear
from headstart.models.protocol import Projection
from headstart.models.weights_format import Linear, own_format


class PackedHeads:
    """Computes what :meth:`MedusaHeads.forward` does. The heads given are read and not kept."""

    def __init__(self, heads: MedusaHeads, shared: Projection | None) -> None:
        config = heads.config
        self._heads, self._size = config.num_heads, (config.hidden_size,)
        self._activation = F.silu if config.block == "residual" else F.relu
        self._residual = config.block == "residual"
        self._condition_in: Linear | None = None
        if config.condition_on_root:
            self._condition_in = packed_matrix(heads.condition_in.detach(), heads.condition_bias.detach())
            self._condition_out_K = [packed_matrix(weight.detach()) for weight in heads.condition_out]
        self._blocks_LK = [
            [packed_matrix(weight.detach(), bias.detach()) for weight, bias in zip(weight_K, bias_K, strict=True)]
            for weight_K, bias_K in zip(heads.block_weight, heads.block_bias, strict=True)
        ]
        self._shared = shared
        self._own_K: list[Product] = []
        if config.projection == "own":
            self._own_K = [packed_matrix(weight.detach()) for weight in heads.own_projection]
        elif config.projection == "low-rank":
            pairs = zip(heads.projection_in.detach(), heads.projection_out.detach(), strict=True)
            self._own_K = [LowRankCorrection(packed_matrix(into_WD), packed_matrix(out_VW)) for into_WD, out_VW in pairs]

    @staticmethod
    def worthwhile(heads: MedusaHeads) -> bool:
        """Whether this processor, torch and dtype pack at all."""
        return PackedLinear(heads.block_weight.new_zeros(16, heads.config.hidden_size)).packed

    def __call__(self, hidden_BD: torch.Tensor, root_BD: torch.Tensor | None) -> torch.Tensor:
        """Logits K x B x V."""
        states_K = [hidden_BD] * self._heads
        if self._condition_in is not None:
            assert root_BD is not None, "these heads read the root's embedding"
            joined = torch.cat([F.rms_norm(hidden_BD, self._size), F.rms_norm(root_BD, self._size)], -1)
            z_KBF = F.silu(self._condition_in(joined)).unflatten(-1, (self._heads, -1)).transpose(0, 1)
            states_K = [hidden_BD + out(z_BF) for out, z_BF in zip(self._condition_out_K, z_KBF, strict=True)]
        for layer_K in self._blocks_LK:
            moved_K = [self._activation(block(x_BD)) for block, x_BD in zip(layer_K, states_K, strict=True)]
            states_K = [x + moved for x, moved in zip(states_K, moved_K, strict=True)] if self._residual else moved_K
        if self._shared is None:
            return torch.stack([own(x_BD) for own, x_BD in zip(self._own_K, states_K, strict=True)])
        logits_KBV = self._shared(torch.cat(states_K)).view(self._heads, len(hidden_BD), -1)
        if self._own_K:
            for logits_BV, own, x_BD in zip(logits_KBV, self._own_K, states_K, strict=True):
                logits_BV += own(x_BD)
        return logits_KBV


def packed_matrix(weight_OI: torch.Tensor, bias_O: torch.Tensor | None = None) -> Linear:
    """A matrix of heads; in bfloat16 rounded to 8 bits where the processor has products of those."""
    rounded = weight_OI.dtype == torch.bfloat16 and int8_fault() is None
    return Int8Linear(weight_OI, bias_O) if rounded else own_format(weight_OI, bias_O)
