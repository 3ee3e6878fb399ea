"""The LM head as a function, over the whole vocabulary or a part of it, logit scale and soft-cap included."""

import torch
import torch.nn.functional as F


class LinearProjection:
    """``softcap(scale * (W h + b))`` over V rows of an LM head; (..., D) to (..., V)."""

    def __init__(self, weight_VD: torch.Tensor, bias_V: torch.Tensor | None, scale: float, softcap: float | None) -> None:
        self.weight_VD = weight_VD
        self.bias_V = bias_V
        self.scale = scale
        self.softcap = softcap

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        return finish(F.linear(hidden.to(self.weight_VD.dtype), self.weight_VD, self.bias_V), self.scale, self.softcap)


def finish(logits: torch.Tensor, scale: float, softcap: float | None) -> torch.Tensor:
    """What a model does to the LM head's product before it calls it logits (Granite, Cohere: scale; Gemma: soft-cap)."""
    if scale != 1.0:
        logits = logits * scale
    if softcap is not None:
        logits = torch.tanh(logits / softcap) * softcap
    return logits
