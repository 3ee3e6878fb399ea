"""The multi-token objective, head by head: logits and activations of one head at a time.

The loss is the sum of each head's cross-entropy, L = L_1 + ... + L_n, where head i at position t is asked for token t + i. All
heads hang on the trunk's output, so that their gradients meet there: each head is run forward and backward by itself and leaves
its gradient at the trunk's output, and what it computed is gone before the next one begins. Then the trunk is run backward, once.
The sums are those of one backward pass over everything, but the peak of memory does not grow with n.
Source: Gloeckle et al. 2024, section 2.

Shapes: B texts, T positions, R = B * T positions in a row, N heads, D hidden, V vocabulary.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

SLICE_LOGITS = 1 << 24
"""Logits that are computed at a time: 64 MB in float32."""


@dataclass(frozen=True)
class Trunk:
    """A model's pass up to where its heads begin."""

    output_BTD: torch.Tensor
    """With the trunk's graph behind it."""
    leaf_BTD: torch.Tensor
    """The same values as a leaf: where the heads begin, and where their gradients meet."""
    first_BTD: torch.Tensor
    """What the first head, the model's own, makes of the leaf."""


Head = Callable[[torch.Tensor], torch.Tensor]
"""From the trunk's output B x T x D to what the unembedding reads, B x T x D."""


def backward_by_heads(
    trunk: Trunk,
    heads: Sequence[Head],
    unembed: Callable[[torch.Tensor], torch.Tensor],
    vocab: int,
    ids_BT: torch.Tensor,
    weights_N: Sequence[float],
) -> list[float | None]:
    """Add the gradient of the weighted sum of all losses to every parameter's ``grad``; returns the losses in nats, unweighted.

    Args:
        heads: those after the first.
        unembed: logits (R, V) of states (R, D); shared by all heads.
        vocab: V.
        ids_BT: with n ids more than the trunk has positions, so that each position has a target for each head.
        weights_N: a head whose weight is 0 is not run, and its loss is None.
    """
    positions = trunk.leaf_BTD.shape[1]
    assert ids_BT.shape[1] == positions + len(weights_N), "each position needs a target for each head"
    losses: list[float | None] = []
    for n, weight in enumerate(weights_N):
        if not weight:
            losses.append(None)
            continue
        states_BTD = trunk.first_BTD if n == 0 else heads[n - 1](trunk.leaf_BTD)
        labels_R = ids_BT[:, n + 1 : n + 1 + positions].reshape(-1)
        loss, grad_BTD = _through_unembedding(states_BTD.detach(), labels_R, unembed, vocab, weight)
        states_BTD.backward(grad_BTD)
        losses.append(loss)
        del states_BTD, grad_BTD
        torch.clear_autocast_cache()  # the head's matrices in the reduced precision: they are not read again
    assert trunk.leaf_BTD.grad is not None, "no head has a weight"
    if trunk.output_BTD.requires_grad:
        trunk.output_BTD.backward(trunk.leaf_BTD.grad)
    return losses


def _through_unembedding(
    states_BTD: torch.Tensor, labels_R: torch.Tensor, unembed: Callable[[torch.Tensor], torch.Tensor], vocab: int, weight: float
) -> tuple[float, torch.Tensor]:
    """Mean cross-entropy, and the weighted gradient by the states; the unembedding's own gradient is added where it belongs.

    The same trick once more: no more logits at a time than a slice holds.
    """
    states_RD = states_BTD.flatten(0, 1)
    grad_RD = torch.empty_like(states_RD)
    total = torch.zeros((), dtype=torch.float64, device=states_RD.device)
    rows, size = len(states_RD), max(1, SLICE_LOGITS // vocab)
    for start in range(0, rows, size):
        part_RD = states_RD[start : start + size].detach().requires_grad_()
        logits_RV = unembed(part_RD)
        nats = F.cross_entropy(
            logits_RV.to(torch.promote_types(logits_RV.dtype, torch.float32)), labels_R[start : start + size], reduction="sum"
        )
        (nats * (weight / rows)).backward()
        assert part_RD.grad is not None
        grad_RD[start : start + size] = part_RD.grad
        total += nats.detach()
    return float(total) / rows, grad_RD.view_as(states_BTD)
