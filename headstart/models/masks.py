"""Attention masks of a pass in which every row has its own length and its own tree.

Shapes: B rows, N nodes, S slots that the pass can see.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Reach:
    """How far back a kind of attention layer sees."""

    window: int | None = None
    """The last ``window`` positions, the node's own included; None is all of them."""
    chunk: int | None = None
    """Only positions of the same chunk of this size (Llama 4's local layers)."""


def pass_masks(
    lengths_B: Sequence[int],
    depth_BN: torch.Tensor,
    ancestors_BNN: torch.Tensor,
    reaches: Mapping[str, Reach],
    dtype: torch.dtype,
) -> dict[str, torch.Tensor]:
    """Additive masks B x 1 x N x S by kind of layer: 0 where a node sees a slot, the dtype's lowest number elsewhere.

    Node j of row b lies in slot ``lengths_B[b] + j`` at position ``lengths_B[b] + depth``; committed slots hold the
    position of their own number. S is the longest row plus N.
    """
    device = depth_BN.device
    rows, nodes = depth_BN.shape
    live = max(lengths_B) + nodes
    length_B1 = torch.tensor(lengths_B, device=device)[:, None]
    slot_S = torch.arange(live, device=device)
    tree_slots_BN = length_B1 + torch.arange(nodes, device=device)
    seen_BNS = (slot_S < length_B1)[:, None, :].expand(rows, nodes, live).clone()
    seen_BNS.scatter_(2, tree_slots_BN[:, None, :].expand(rows, nodes, nodes), ancestors_BNN)
    masks = {}
    position_BS = None
    for kind, reach in reaches.items():
        visible_BNS = seen_BNS
        if reach.window is not None or reach.chunk is not None:
            if position_BS is None:
                position_BS = slot_S.expand(rows, live).clone()
                position_BS.scatter_(1, tree_slots_BN, length_B1 + depth_BN)
            own_BN1 = (length_B1 + depth_BN)[:, :, None]
            if reach.window is not None:
                visible_BNS = visible_BNS & (own_BN1 - position_BS[:, None, :] < reach.window)
            if reach.chunk is not None:
                visible_BNS = visible_BNS & (own_BN1 // reach.chunk == position_BS[:, None, :] // reach.chunk)
        # the lowest finite number, not -inf: a block of slots that is masked as a whole must not turn into NaN
        hidden_BNS = ~visible_BNS
        masks[kind] = torch.zeros(hidden_BNS.shape, dtype=dtype, device=device).masked_fill_(hidden_BNS, torch.finfo(dtype).min)[
            :, None
        ]
    return masks
