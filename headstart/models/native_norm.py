"""Root-mean-square norms with few kernels.

Shapes: ... any leading axes, D normed axis.
"""

import math

import torch


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
        self._floor = torch.tensor(math.sqrt(width * eps), device=weight.device)

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self._exact is not None:
            return self._stepwise(x, self._exact)
        # sqrt(sum + width * eps) is the hypotenuse of the vector's length and a constant: a kernel less
        length = torch.hypot(torch.linalg.vector_norm(x, dim=-1, keepdim=True, dtype=torch.float32), self._floor)
        return (x * (self._factor / length)).to(x.dtype)

    def _stepwise(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self._eps)
        return (y * (1.0 + weight.float())).to(x.dtype) if self._plus_one else weight * y.to(x.dtype)
