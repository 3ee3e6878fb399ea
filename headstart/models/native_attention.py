"""The native decoder's fast attention: one fused call for small passes and for large ones, two products between.

Shapes: B rows, N nodes, H query heads, J key/value heads, G query heads per key/value head, S slots, D size of a head.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F

from headstart.models.masks import pass_masks
from headstart.models.native_pass import NativePass
from headstart.models.native_spec import NativeSpec

_FUSED_UP_TO = 4096  # scores of a key/value head up to which torch's fused kernel beats two products on a CPU
_FUSED_FROM = 64  # nodes from which it does again


class FastAttention:
    """Attention of one pass, layer by layer. The order of its sums depends on the shape of the pass."""

    def __init__(self, one_pass: NativePass, spec: NativeSpec, dtype: torch.dtype) -> None:
        self._pass, self._spec = one_pass, spec
        one_pass.open(one_pass.live)
        rows, nodes = one_pass.rows, one_pass.nodes
        scores = nodes * spec.groups * one_pass.live
        self._fused = spec.softcap is None and ((rows == 1 and scores <= _FUSED_UP_TO) or nodes >= _FUSED_FROM)
        self._masks = self._prepared(pass_masks(one_pass.lengths, one_pass.depth_BN, one_pass.ancestors_BNN, spec.reaches, dtype))

    def __call__(self, layer: int, q_BNHD: torch.Tensor, k_BNJD: torch.Tensor, v_BNJD: torch.Tensor) -> torch.Tensor:
        """Returns B x N x (H * D)."""
        self._pass.write(layer, k_BNJD, v_BNJD)
        keys, values = self._pass.keys_L[layer], self._pass.values_L[layer]
        spec = self._spec
        mask = self._masks[spec.kinds_L[layer]]
        rows, nodes, heads, size = q_BNHD.shape
        q = q_BNHD.reshape(rows, nodes, spec.kv_heads, spec.groups, size)
        if nodes > 1:
            q = q.transpose(1, 2)
        if self._fused:
            q = q.reshape(rows, spec.kv_heads, nodes * spec.groups, size)
            keys, values = (x.view(rows, spec.kv_heads, *x.shape[1:]) for x in (keys, values))
            out = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask, scale=spec.scale)
        else:
            assert mask is not None
            q = q.reshape(rows * spec.kv_heads, nodes * spec.groups, size)
            out = torch.bmm(self._weights(q, keys, mask), values)
        if nodes > 1:
            out = out.view(rows, spec.kv_heads, nodes, spec.groups, size).transpose(1, 2)
        return out.reshape(rows, nodes, heads * size)

    def _weights(self, q: torch.Tensor, keys: torch.Tensor, mask_B1SN: torch.Tensor) -> torch.Tensor:
        """Softmax of the scores, (B * J) x (N * G) x S."""
        spec, one_pass = self._spec, self._pass
        # keys times queries, not queries times keys: oneDNN is faster with the long side in front
        scores = torch.bmm(keys, q.transpose(1, 2))
        scale = spec.scale
        if spec.softcap is not None:
            scores = scores.mul_(scale / spec.softcap).tanh_()
            scale = spec.softcap
        # added where the scores lie, in their own order of axes; softmax turns them on its way
        by_row = scores.view(one_pass.rows, spec.kv_heads, *scores.shape[1:])
        torch.add(mask_B1SN, by_row, alpha=scale, out=by_row)
        return torch.softmax(scores.transpose(1, 2), -1)

    def _prepared(self, masks: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor | None]:
        """B x 1 x N x S masks in the shape that the chosen way wants: B x 1 x (N * G) x S for the fused one, None where everything
        is seen; B x 1 x S x (N * G) for the other."""
        groups = self._spec.groups
        if not self._fused:
            return {kind: mask.transpose(2, 3).repeat_interleave(groups, 3) for kind, mask in masks.items()}
        if self._pass.nodes == 1:
            return {kind: mask if bool(mask.any()) else None for kind, mask in masks.items()}
        return {kind: mask.repeat_interleave(groups, 2) for kind, mask in masks.items()}
