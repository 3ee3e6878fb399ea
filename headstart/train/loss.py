"""Cross-entropy of all heads over the draft vocabulary, and its gradient, in slices that fit the processor's caches.

The logits of a batch would take gigabytes. The gradient of softmax and cross-entropy is known, so a slice of logits is made,
turned into its own gradient in place and multiplied back at once: nothing of it is kept for a backward pass.

Shapes: K heads, B examples, R rows of a slice, V projected vocabulary, D hidden.
"""

from dataclasses import dataclass

import torch

from headstart.train.output_matrix import OutputMatrix
from headstart.train.teacher import Teacher

DECAY = 0.8
"""Head k's loss counts DECAY ** k."""
_SLICE_LOGITS = 1 << 24  # 32 MB in bfloat16


@dataclass(frozen=True)
class LossParts:
    """What one batch gave."""

    loss: float
    """The weighted mean of ``loss_K``: what is trained on where there is no teacher."""
    loss_K: list[float]
    """Mean cross-entropy of each head in nats over labels inside the draft vocabulary; NaN without one."""
    grad_KBD: torch.Tensor
    """Gradient by the heads' states of what is trained on: ``loss``, towards the teacher's targets where there is one."""
    grad_KVD: torch.Tensor | None
    """Gradient by each head's whole matrix; None where they share one."""


def loss_and_gradient(
    states_KBD: torch.Tensor,
    labels_KB: torch.Tensor,
    shared: OutputMatrix | None,
    own_KVD: torch.Tensor | None,
    log_weight_V: torch.Tensor | None = None,
    teacher: Teacher | None = None,
) -> LossParts:
    """Cross-entropy per head, weighted by ``DECAY ** k``; labels below 0 are left out. ``log_weight_V`` is added to the logits.

    ``own_KVD`` are whole matrices, one a head, instead of the ``shared`` one, of which a bias remains. With a teacher, the target
    is a mixture of the token that the base model chose and the distribution it was chosen from.

    Source: Medusa (Cai et al. 2024), section 2.2.1; soft targets: section 2.3.2 (self-distillation), here for the heads.
    """
    heads = len(states_KBD)
    weight_K = [DECAY**k for k in range(heads)]
    grad_KBD = torch.zeros_like(states_KBD)
    grad_KVD = None if own_KVD is None else torch.zeros_like(own_KVD, dtype=torch.float32)
    loss_K: list[float] = []
    for k in range(heads):
        matrix = shared if own_KVD is None else OutputMatrix(own_KVD[k], None if shared is None else shared.bias_V)
        assert matrix is not None, "heads without their own projection need the base model's"
        count = int((labels_KB[k] >= 0).sum())
        if not count:
            loss_K.append(float("nan"))
            continue
        scale = weight_K[k] / sum(weight_K) / count
        total = torch.zeros((), dtype=torch.float64, device=states_KBD.device)
        size = max(2, _SLICE_LOGITS // len(matrix.weight_VD))
        for first in range(0, len(states_KBD[k]), size):  # rows without a label as well: a CPU is slow at ever new shapes
            rows = slice(first, first + size)
            states_RD = states_KBD[k, rows]
            soft_RV = None if teacher is None else teacher.share(k, rows, log_weight_V)
            logits_RV = matrix.logits(states_RD, log_weight_V)
            nats, slope_RV = _softmax_slope(logits_RV, labels_KB[k][rows], soft_RV)
            if matrix.softcap is not None:
                capped_RV = logits_RV if log_weight_V is None else logits_RV - log_weight_V.to(logits_RV.device, logits_RV.dtype)
                slope_RV *= 1 - (capped_RV / matrix.softcap) ** 2  # the derivative of the soft-cap
            total += nats
            torch.mul(slope_RV @ matrix.weight_VD, scale, out=grad_KBD[k, rows])
            if grad_KVD is not None:
                grad_KVD[k].add_(slope_RV.T @ states_RD, alpha=scale)
        loss_K.append(float(total) / count)
    present = [w * nats for w, nats, labels_B in zip(weight_K, loss_K, labels_KB, strict=True) if bool((labels_B >= 0).any())]
    return LossParts(sum(present) / sum(weight_K), loss_K, grad_KBD, grad_KVD)


def _softmax_slope(
    logits_RV: torch.Tensor, labels_R: torch.Tensor, soft_RV: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sum of -log p(label), and the gradient by the logits: p minus the target; nothing in rows whose label is below 0.

    The target is one at the label or, with ``soft_RV``, that distribution (rows that sum to at most 1) and the rest at the label.
    """
    p_RV = torch.softmax(logits_RV, -1)
    without_R1 = labels_R[:, None] < 0
    at_R1 = labels_R[:, None].clamp(min=0)
    p_R1 = p_RV.gather(1, at_R1)
    # in bfloat16 p has 8 bits, an error of 0.4 % that averages out over the rows; the clamp is for p that rounds to 0
    nats = -p_R1.double().clamp(min=1e-38).log().masked_fill(without_R1, 0).sum()
    if soft_RV is None:
        slope_RV = p_RV.scatter_(1, at_R1, p_R1 - 1)
    else:
        left_R1 = 1 - soft_RV.sum(-1, keepdim=True, dtype=torch.float32).to(p_RV.dtype)
        slope_RV = p_RV.sub_(soft_RV).scatter_add_(1, at_R1, -left_R1)
    return nats, slope_RV.masked_fill_(without_R1, 0)
