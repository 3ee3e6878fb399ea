"""The attention function that the transformers adapter lends to a model for the time of a pass.

Key/value heads are shared by groups of query heads without being repeated in memory: the group's queries are stacked
along the node axis. Soft-capping is supported, which transformers' own ``sdpa`` refuses.

Shapes: B rows, H query heads, G query heads per key/value head, N nodes, S slots, D size of a head.
"""

from typing import Any

import torch
import torch.nn.functional as F

NAME = "headstart"


class NotCoveredError(Exception):
    """The layer wants something that this function does not do; its own eager attention is used instead."""


def tree_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    scaling: float | None = None,
    dropout: float = 0.0,
    softcap: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """transformers' attention interface: B x H x N x D in, B x N x H x D out. The mask is additive, B x 1 x N x S."""
    for extra in ("s_aux", "position_bias", "sinks"):
        if kwargs.get(extra) is not None:
            raise NotCoveredError(extra)
    rows, heads, nodes, size = query.shape
    groups = heads // key.shape[1]
    query = query.reshape(rows, key.shape[1], groups * nodes, size)
    if attention_mask is not None and groups > 1:
        attention_mask = attention_mask.repeat(1, 1, groups, 1)
    scale = scaling if scaling is not None else size**-0.5
    if softcap is None:
        out = F.scaled_dot_product_attention(query, key, value, attn_mask=attention_mask, scale=scale)
    else:
        scores = torch.matmul(query, key.transpose(2, 3)) * scale
        scores = torch.tanh(scores / softcap) * softcap
        if attention_mask is not None:
            scores = scores + attention_mask
        out = torch.matmul(torch.softmax(scores, -1, dtype=torch.promote_types(scores.dtype, torch.float32)).to(value.dtype), value)
    return out.reshape(rows, heads, nodes, value.shape[-1]).transpose(1, 2).contiguous(), None
