"""A float32 product with weights that lie in memory in 16 bits, where that loses nothing.

Most models are published in bfloat16 or float16. Loaded in float32, for a processor that has no products of 16 bits, they are twice
as large and not a bit more exact. FBGEMM reads a matrix of 16-bit floats, widens it in the registers and multiplies in float32, so
a pass reads half the bytes, and takes about as long over six rows as over one. Its numbers are float16 without the subnormal
ones. bfloat16 has more exponents but fewer digits: multiplied by a power of two, which changes no digit, nearly every matrix
fits; one that does not is refused here and stays in float32. The operators come with torch, but are on their way out of its
public interface: they are tried before they are used.

Shapes: O rows of a matrix, I its columns.
"""

import math
from functools import lru_cache
from typing import Any

import torch

from headstart.models.fbgemm_engine import fbgemm
from headstart.models.product_trial import fault_of

_LARGEST = 15  # float16 reaches 2 ** 16
_SMALLEST = 2.0**-14  # below it FBGEMM's numbers are 0
_MOST_SHIFT = 64  # inputs are shifted back, and have to stay float32 numbers of full precision
_MOST_PLACES = 2**31 - 1  # FBGEMM counts numbers of its input and output in 32 bits
_SLAB = 4096  # rows of a matrix that are looked at at a time: bounds the copies


class HalfLinear:
    """``x W^T + b`` over any leading shape, in float32. The weight given can be let go of.

    Args:
        shift: from :func:`lossless_shift`.
    """

    def __init__(self, weight_OI: torch.Tensor, bias_O: torch.Tensor | None, shift: int) -> None:
        self._bias_O = bias_O
        self._unshift = 2.0**-shift
        self._packed = _pack(_shifted(weight_OI.detach(), shift))
        self._most_rows = _MOST_PLACES // max(weight_OI.shape)
        self._multiply: Any = torch.ops.quantized.linear_dynamic_fp16.default
        self.weight_bytes = 2 * weight_OI.numel()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if x.numel() // x.shape[-1] > self._most_rows:
            parts = [self(part) for part in x.flatten(0, -2).split(self._most_rows)]
            return torch.cat(parts).view(*x.shape[:-1], -1)
        out: torch.Tensor = self._multiply(x * self._unshift, self._packed)
        return out if self._bias_O is None else out + self._bias_O

    packed = True
    alike = __call__  # equal bits are asked for in bfloat16 alone


def lossless_shift(weight_OI: torch.Tensor) -> int | None:
    """The power of two with which every number of this float32 matrix fits into 16 bits; None where there is none."""
    ends = torch.aminmax(weight_OI.detach())
    largest = max(-float(ends.min), float(ends.max))
    if not 0 < largest < math.inf:
        return None
    shift = _LARGEST - math.frexp(largest)[1]
    if abs(shift) > _MOST_SHIFT:
        return None
    return shift if all(_fits(slab_OI, shift) for slab_OI in weight_OI.detach().split(_SLAB)) else None


def _fits(slab_OI: torch.Tensor, shift: int) -> bool:
    shifted_OI = _shifted(slab_OI, shift)
    inside = (shifted_OI.abs() >= _SMALLEST) | (slab_OI == 0)
    return bool(inside.all()) and torch.equal(_shifted(shifted_OI.half().float(), -shift), slab_OI)


def _shifted(numbers: torch.Tensor, shift: int) -> torch.Tensor:
    return torch.ldexp(numbers, torch.tensor(shift))


@lru_cache(maxsize=1)
def half_fault() -> str | None:
    """Why this processor and torch cannot do it; None if they can."""
    return fault_of("FBGEMM", _multiplies, "its 16-bit weights give another product than float32 ones")


def _multiplies() -> bool:
    """Whole numbers, whose products and sums float32 holds exactly: neither side may be rounded to 16 bits on the way."""
    generator = torch.Generator().manual_seed(0)
    weight_OI = torch.randint(-128, 129, (48, 70), generator=generator).float()
    x_MI = torch.randint(-(2**10), 2**10, (7, 70), generator=generator).float() * 2 + 1
    x_MI[0, 0] = 2.0**12 + 1  # 13 digits: more than 16-bit floats have
    return torch.equal(HalfLinear(weight_OI, None, 0)(x_MI), x_MI @ weight_OI.T)


def _pack(weight_OI: torch.Tensor) -> Any:
    with fbgemm():
        return torch.ops.quantized.linear_prepack_fp16(weight_OI, None)
