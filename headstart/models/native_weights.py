"""The weights of a model's layers, joined and packed for the products of decoding.

Shapes: O rows of a matrix, I its columns, H query heads, J key/value heads, D size of a head.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from headstart.models.input_ranges import InputRanges
from headstart.models.native_experts import Experts
from headstart.models.native_mlp import GatedMlp, Product
from headstart.models.native_norm import RMSNorm
from headstart.models.native_spec import NativeSpec
from headstart.models.packed_linear import PackedLinear
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
    mlp: GatedMlp | Experts
    mlp_out_norm: RMSNorm | None

    @property
    def weight_bytes(self) -> int:
        """What the matrices take; norms are next to nothing."""
        return sum(part.weight_bytes for part in (self.qkv, self.out, self.mlp))


def native_layer(
    layer: Any, spec: NativeSpec, weights: WeightsFormat, ranges: InputRanges, product: Product, fewest: int
) -> NativeLayer:
    """Read one layer of the transformers model. Nothing of it is kept where the products could be packed.

    ``product`` is how its matrices multiply, and ``fewest`` the rows that an expert's products are filled up to.
    """
    family, attention = spec.family, layer.self_attn

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

    def joined(linears: Sequence[torch.nn.Linear]) -> Linear:
        return weights.make(*_one_matrix(linears), ranges.get(linears[0]))

    def dense(mlp: Any) -> GatedMlp:
        gate_up = [mlp.gate_up_proj] if family.fused else [mlp.gate_proj, mlp.up_proj]
        return GatedMlp(joined(gate_up), joined([mlp.down_proj]), spec.activation, product)

    def mixed(mlp: Any) -> Experts:
        stored, gate = mlp.experts, mlp.gate
        pairs = zip(stored.gate_up_proj.detach(), stored.down_proj.detach(), strict=True)
        each = [
            GatedMlp(weights.make(up, None, None), weights.make(down, None, None), spec.activation, product) for up, down in pairs
        ]
        shares = getattr(gate, "norm_topk_prob", True)
        # which expert it is must not be rounded away
        router = PackedLinear(gate.weight.detach())
        return Experts(router, each, product, top=gate.top_k, shares=shares, fewest=fewest)

    return NativeLayer(
        attention_norm=norm(family.attention_norm),
        qkv=joined(qkv),
        head_norm=head_norm,
        query_norm=query_norm,
        key_norm=key_norm,
        out=joined([attention.o_proj]),
        attention_out_norm=norm(family.attention_out_norm),
        mlp_norm=norm(family.mlp_norm),
        mlp=mixed(layer.mlp) if family.experts else dense(layer.mlp),
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
