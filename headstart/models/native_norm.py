"""Root-mean-square norms with few kernels.

Shapes: ... any leading axes, D normed axis.
"""

import math

import torch

# methods, since the general conversion takes longer to find its way than to convert a few rows
_NARROWED = {torch.bfloat16: torch.Tensor.bfloat16, torch.float16: torch.Tensor.half}


class RMSNorm:
    """``x / sqrt(mean(x^2) + eps) * weight``, in float32 inside and rounded once. The weight may have axes of its own in front.

    In float64 it is done step by step as transformers does it, its float32 inside included, so that both agree there.
    """

    def __init__(self, weight: torch.Tensor, eps: float, *, plus_one: bool = False) -> None:
        width = weight.shape[-1]
        self._eps, self._plus_one = eps, plus_one
        self._exact = weight.detach() if weight.dtype == torch.float64 else None
        factor = weight.detach().float() + 1.0 if plus_one else weight.detach().float()
        self._factor = factor * math.sqrt(width)
        self._narrowed = _NARROWED.get(weight.dtype, torch.Tensor.float)
        self._floor = torch.tensor(math.sqrt(width * eps), device=weight.device)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self._exact is not None:
            return self._stepwise(x, self._exact)
        wide = x.float()
        # sqrt(sum + width * eps) is the hypotenuse of the vector's length and a constant: a kernel less
        scale = self._factor / torch.hypot(torch.linalg.vector_norm(wide, 2, -1, True), self._floor)
        return wide * scale if wide is x else self._narrowed(wide.mul_(scale))

    def _stepwise(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self._eps)
        return (y * (1.0 + weight.float())).to(x.dtype) if self._plus_one else weight * y.to(x.dtype)
