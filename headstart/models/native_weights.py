"""The weights of a model's layers, joined and packed for the products of decoding.

Shapes: O rows of a matrix, I its columns, H query heads, J key/value heads, D size of a head.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headstart.models.input_ranges import InputRanges
from headstart.models.native_norm import RMSNorm
from headstart.models.native_spec import NativeSpec
from headstart.models.weights_format import Linear, WeightsFormat


@dataclass(frozen=True)
class NativeLayer:
    """One layer. Norms that the family does not have are None."""

    attention_norm: RMSNorm | None
    qkv: Linear
    """To (H + 2 J) heads: queries, keys, values."""
    head_norm: RMSNorm | None
    """Over each head of the joined queries and keys."""
    query_norm: RMSNorm | None
    """Over all queries of a position together; comes with ``key_norm``."""
    key_norm: RMSNorm | None
    out: Linear
    attention_out_norm: RMSNorm | None
    mlp_norm: RMSNorm | None
    gate_up: Linear
    down: Linear
    mlp_out_norm: RMSNorm | None

    @property
    def weight_bytes(self) -> int:
        """What the matrices take; norms are next to nothing."""
        return sum(linear.weight_bytes for linear in (self.qkv, self.out, self.gate_up, self.down))


def native_layer(layer: Any, spec: NativeSpec, weights: WeightsFormat, ranges: InputRanges) -> NativeLayer:
    """Read one layer of the transformers model. Nothing of it is kept where the products could be packed."""
    family, attention, mlp = spec.family, layer.self_attn, layer.mlp

    def norm(name: str | None) -> RMSNorm | None:
        return None if name is None else RMSNorm(getattr(layer, name).weight, spec.eps, plus_one=family.norm_plus_one)

    head_norm = query_norm = key_norm = None
    if family.query_key_norm:
        query, key = attention.q_norm.weight, attention.k_norm.weight
        if query.shape[0] == spec.head_size:
            weight_HD = torch.cat([query.expand(spec.heads, -1), key.expand(spec.kv_heads, -1)])
            head_norm = RMSNorm(weight_HD, spec.eps, plus_one=family.norm_plus_one)
        else:
            query_norm, key_norm = (RMSNorm(w, spec.eps, plus_one=family.norm_plus_one) for w in (query, key))
    qkv = [attention.qkv_proj] if family.fused else [attention.q_proj, attention.k_proj, attention.v_proj]
    gate_up = [mlp.gate_up_proj] if family.fused else [mlp.gate_proj, mlp.up_proj]

    def joined(linears: Sequence[torch.nn.Linear]) -> Linear:
        return weights.make(*_one_matrix(linears), ranges.get(linears[0]))

    return NativeLayer(
        attention_norm=norm(family.attention_norm),
        qkv=joined(qkv),
        head_norm=head_norm,
        query_norm=query_norm,
        key_norm=key_norm,
        out=joined([attention.o_proj]),
        attention_out_norm=norm(family.attention_out_norm),
        mlp_norm=norm(family.mlp_norm),
        gate_up=joined(gate_up),
        down=joined([mlp.down_proj]),
        mlp_out_norm=norm(family.mlp_out_norm),
    )


def _one_matrix(linears: Sequence[torch.nn.Linear]) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Weight and bias of matrices that multiply the same input, as one."""
    if len(linears) == 1:
        bias = linears[0].bias
        return linears[0].weight.detach(), None if bias is None else bias.detach()
    weight_OI = torch.cat([linear.weight.detach() for linear in linears])
    if all(linear.bias is None for linear in linears):
        return weight_OI, None
    biases = [linear.weight.new_zeros(linear.out_features) if linear.bias is None else linear.bias.detach() for linear in linears]
    return weight_OI, torch.cat(biases)
