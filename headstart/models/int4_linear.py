"""A product with weights of 4 bits: 32 columns of a row share a scale and an offset. The input keeps its own format.

It reads half of what 8 bits read, but spends more arithmetic on a row of the input, so it is for few rows at a time. The
operators are torch's, private, and tried before they are used.

Shapes: O rows of a matrix, I its columns, P rows with padding, C groups of columns, M rows of the input.
"""

from functools import lru_cache
from typing import Any

import torch

from headstart.errors import UnsupportedModelError
from headstart.models.product_trial import fault_of

GROUP = 32
_LEVELS, _MIDDLE = 15, 8
_ROWS = 16  # the kernel wants multiples of so many rows of a matrix
_DTYPES = (torch.bfloat16, torch.float16, torch.float32)


class Int4Linear:
    """``x W^T + b`` over any leading shape. The weight given can be let go of.

    Raises:
        UnsupportedModelError: the matrix's columns are no multiple of 32.
    """

    def __init__(self, weight_OI: torch.Tensor, bias_O: torch.Tensor | None = None) -> None:
        rows, columns = weight_OI.shape
        if columns % GROUP:
            raise UnsupportedModelError(
                f"weights='int4' needs matrices of a multiple of {GROUP} columns, and this model has one of {columns};"
                " use weights='int8', or leave weights out"
            )
        self._bias_O = None if bias_O is None else bias_O.detach()
        self._dtype = weight_OI.dtype if weight_OI.dtype in _DTYPES else torch.float32
        self._rows = rows
        self._packed, self._scales_CP2 = _pack(weight_OI.detach(), self._dtype)
        self.weight_bytes = self._packed.nbytes + self._scales_CP2.nbytes

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        x_MI = x.reshape(-1, x.shape[-1]).to(self._dtype)
        out_MP: torch.Tensor = torch.ops.aten._weight_int4pack_mm_for_cpu(x_MI, self._packed, GROUP, self._scales_CP2)
        out = out_MP[:, : self._rows].view(*x.shape[:-1], self._rows).to(x.dtype)
        return out if self._bias_O is None else out + self._bias_O

    packed = True
    alike = __call__  # each row of the input is summed by itself


@lru_cache(maxsize=1)
def int4_fault() -> str | None:
    """Why this processor and torch cannot do it; None if they can."""
    return fault_of("4-bit", _adds_up, "this processor's 4-bit products are wrong")


def _adds_up() -> bool:
    ramp_OI = torch.arange(_LEVELS + 1.0).repeat(_ROWS, 2 * GROUP // (_LEVELS + 1)) - _MIDDLE
    packed, scales_CP2 = _pack(ramp_OI, torch.bfloat16)
    x_MI = torch.ones(3, ramp_OI.shape[1], dtype=torch.bfloat16)
    out_MO = torch.ops.aten._weight_int4pack_mm_for_cpu(x_MI, packed, GROUP, scales_CP2)
    return torch.equal(out_MO.float(), ramp_OI.sum(1).expand(3, -1))


def _pack(weight_OI: torch.Tensor, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Weights in torch's order, P x I / 2 bytes, and scales and offsets, C x P x 2: ``w = (q - 8) * scale + offset``."""
    rows, columns = weight_OI.shape
    groups_OCG = weight_OI.view(rows, columns // GROUP, GROUP)
    low_OC, high_OC = (extreme.float() for extreme in groups_OCG.aminmax(dim=-1))
    # rounded before they are used, so that the numbers below make up for it
    scale_OC = ((high_OC - low_OC) / _LEVELS).to(dtype).float().clamp(min=1e-30)
    offset_OC = (low_OC + _MIDDLE * scale_OC).to(dtype).float()
    quantised = (groups_OCG.float() - offset_OC[..., None]).div_(scale_OC[..., None]).round_().add_(_MIDDLE)
    padded = -rows % _ROWS
    q_PI = torch.nn.functional.pad(quantised.clamp_(0, _LEVELS).view(rows, columns), (0, 0, 0, padded)).to(torch.int32)
    scales_PC2 = torch.nn.functional.pad(torch.stack([scale_OC, offset_OC], -1), (0, 0, 0, 0, 0, padded))
    packed: Any = torch.ops.aten._convert_weight_to_int4pack_for_cpu(q_PI, 1)
    return packed, scales_PC2.transpose(0, 1).to(dtype).contiguous()
