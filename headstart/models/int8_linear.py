"""A product with weights of 8 bits, and its input rounded to 8 bits on the way (W8A8).

The weights are symmetric, one scale for each row of the matrix; a row of the input gets its own scale when it comes. The sum
is made in 32-bit integers, so it is exact: a row has the same bits whatever rows stand beside it, also alone. FBGEMM does it
with the processor's VNNI instructions. Its operators come with torch, but are on their way out of torch's public interface:
they are tried before they are used.

Few input channels are much larger than the rest, and would set the step for all. Where the range of each channel is known, part
of it is moved into the weights first, as in SmoothQuant (Xiao et al. 2022, equation 4, with alpha = 1/2).

Shapes: O rows of a matrix, I its columns, M rows of the input.
"""

import warnings
from functools import lru_cache
from typing import Any

import torch

from headstart.models.fbgemm_engine import fbgemm
from headstart.models.product_trial import fault_of

_LEVELS = 127
_ZERO = 128  # inputs are stored without sign
_SLAB = 4096  # rows of a matrix that are quantised at a time: bounds the float32 copies


class Int8Linear:
    """``x W^T + b`` over any leading shape, in x's dtype. The weight given can be let go of.

    Args:
        range_I: the largest input that is to be expected in each column; None leaves the columns as they are.
    """

    def __init__(self, weight_OI: torch.Tensor, bias_O: torch.Tensor | None = None, range_I: torch.Tensor | None = None) -> None:
        self._bias_O = None if bias_O is None else bias_O.detach().float()
        self._levels = torch.tensor([float(_LEVELS)])  # with an axis, or it would not lift bfloat16 to float32
        self._factor_I = None if range_I is None else _shares(weight_OI, range_I)
        quantised_OI, scale_O = [], []
        for slab_OI in weight_OI.detach().split(_SLAB):
            slab_OI = slab_OI.float() if self._factor_I is None else slab_OI.float() / self._factor_I
            scale_O.append(slab_OI.abs().amax(1).clamp(min=1e-30) / _LEVELS)
            quantised_OI.append((slab_OI / scale_O[-1][:, None]).round().to(torch.int8))
        self._packed = _pack(torch.cat(quantised_OI), torch.cat(scale_O))
        self._multiply: Any = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default
        self.weight_bytes = weight_OI.numel() + 12 * len(weight_OI)  # a scale, a zero point and a sum for each row

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        scaled = x if self._factor_I is None else x * self._factor_I
        # a row of zeros has infinite steps, and is rounded to anything; over infinity it is zero again
        steps = self._levels / scaled.abs().amax(-1, keepdim=True)
        out: torch.Tensor = self._multiply((scaled * steps).float(), 1.0, _ZERO, self._packed) / steps
        return (out if self._bias_O is None else out + self._bias_O).to(x.dtype)

    packed = True
    alike = __call__  # sums of integers are exact


@lru_cache(maxsize=1)
def int8_fault() -> str | None:
    """Why this processor and torch cannot do it; None if they can.

    Processors without VNNI add pairs of products in 16 bits, which overflow: the largest numbers that there can be are tried.
    """
    overflow = "this processor adds 8-bit products with overflow (it needs AVX512-VNNI or AVX-VNNI)"
    return fault_of("FBGEMM", _adds_extremes, overflow)


def _adds_extremes() -> bool:
    extreme_OI = torch.full((32, 256), _LEVELS, dtype=torch.int8)
    extreme_OI[::2] *= -1
    packed = _pack(extreme_OI, torch.ones(32))
    multiply: Any = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32.default
    out_MO = multiply(torch.full((3, 256), float(_LEVELS)), 1.0, _ZERO, packed)
    return torch.equal(out_MO, extreme_OI.float().sum(1).expand(3, -1) * _LEVELS)


def _shares(weight_OI: torch.Tensor, range_I: torch.Tensor) -> torch.Tensor:
    """By what each input column is multiplied, and the matrix's divided, so that both have the same range."""
    range_I = range_I.float()
    range_I = range_I.clamp(min=float(range_I.max()) * 1e-4 + 1e-30)  # a column that was never used may be yet
    largest_I = weight_OI.detach().abs().amax(0).float()
    return (largest_I.clamp(min=float(largest_I.max()) * 1e-4 + 1e-30) / range_I).sqrt()


def _pack(quantised_OI: torch.Tensor, scale_O: torch.Tensor) -> Any:
    """FBGEMM's own order of the weights."""
    with fbgemm(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that quantised tensors are on their way out: see above
        zeros_O = torch.zeros(len(scale_O), dtype=torch.int64)
        weight_OI = torch._make_per_channel_quantized_tensor(quantised_OI, scale_O.double(), zeros_O, 0)
        return torch.ops.quantized.linear_prepack(weight_OI, None)
