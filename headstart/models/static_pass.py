"""A pass of the native decoder whose shapes do not change from step to step, so that a graph of it can be kept.

Rows and nodes are filled up to fixed numbers, and every pass reads the same stretch of slots until the rows outgrow it; where the
rows end is a tensor, not a shape. The pass reads the cache and never writes it: new keys and values are summed beside the cached
ones and handed out, to be stored once for all layers.

Shapes: L layers, B rows, N nodes, H query heads, J key/value heads, G query heads per key/value head, S slots, D size of a head.
"""

from collections.abc import Mapping

import torch

from headstart.models.masks import Reach
from headstart.models.native_spec import NativeSpec


class StaticPass:
    """Attention of one pass, layer by layer; afterwards ``keys`` and ``values`` hold what the nodes add to the cache.

    Args:
        keys_LBJSD: the cache's; only slots below a row's length are read.
        lengths_B: int64.
        depth_BN: int64.
        ancestors_BNN: bool, self included.
    """

    def __init__(
        self,
        spec: NativeSpec,
        keys_LBJSD: torch.Tensor,
        values_LBJSD: torch.Tensor,
        lengths_B: torch.Tensor,
        depth_BN: torch.Tensor,
        ancestors_BNN: torch.Tensor,
    ) -> None:
        self._spec, self._keys_LBJSD, self._values_LBJSD = spec, keys_LBJSD, values_LBJSD
        self._slots = keys_LBJSD.shape[3]
        self._seen = _seen(self._slots, lengths_B, depth_BN, ancestors_BNN, spec.reaches)
        self._added_keys: list[torch.Tensor] = []
        self._added_values: list[torch.Tensor] = []

    def __call__(self, layer: int, q_BNHD: torch.Tensor, k_BNJD: torch.Tensor, v_BNJD: torch.Tensor) -> torch.Tensor:
        """Returns B x N x (H * D)."""
        spec, slots = self._spec, self._slots
        rows, nodes, heads, size = q_BNHD.shape
        self._added_keys.append(k_BNJD)
        self._added_values.append(v_BNJD)
        q = q_BNHD.view(rows, nodes, spec.kv_heads, spec.groups, size).transpose(1, 2).reshape(rows, spec.kv_heads, -1, size)
        cached = torch.matmul(q, self._keys_LBJSD[layer].transpose(2, 3))
        added = torch.matmul(q, k_BNJD.permute(0, 2, 3, 1))
        scores = torch.cat([cached, added], -1).to(torch.promote_types(q.dtype, torch.float32)) * spec.scale
        if spec.softcap is not None:
            scores = torch.tanh(scores / spec.softcap) * spec.softcap
        seen = self._seen[spec.kinds_L[layer]].repeat_interleave(spec.groups, 2)
        weights = torch.softmax(scores.masked_fill(~seen, torch.finfo(scores.dtype).min), -1).to(v_BNJD.dtype)
        out = torch.matmul(weights[..., :slots], self._values_LBJSD[layer])
        out = out + torch.matmul(weights[..., slots:], v_BNJD.transpose(1, 2))
        return out.view(rows, spec.kv_heads, nodes, spec.groups, size).transpose(1, 2).reshape(rows, nodes, heads * size)

    def added(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of the nodes, L x B x N x J x D."""
        return torch.stack(self._added_keys), torch.stack(self._added_values)


def _seen(
    slots: int, lengths_B: torch.Tensor, depth_BN: torch.Tensor, ancestors_BNN: torch.Tensor, reaches: Mapping[str, Reach]
) -> dict[str, torch.Tensor]:
    """What each node sees, by kind of layer: bool B x 1 x N x (S + N), the cached slots first."""
    rows, nodes = depth_BN.shape
    slot_S = torch.arange(slots, device=depth_BN.device)
    cached_BNS = (slot_S < lengths_B[:, None])[:, None].expand(rows, nodes, slots)
    seen = {}
    for kind, reach in reaches.items():
        assert reach.chunk is None, "no covered family has chunked layers"
        if reach.window is None:
            parts = [cached_BNS, ancestors_BNN]
        else:
            far_BNS = lengths_B[:, None, None] + depth_BN[:, :, None] - slot_S
            apart_BNN = depth_BN[:, :, None] - depth_BN[:, None]
            parts = [cached_BNS & (far_BNS < reach.window), ancestors_BNN & (apart_BNN < reach.window)]
        seen[kind] = torch.cat(parts, -1)[:, None]
    return seen
