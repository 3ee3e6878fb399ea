"""The formats in which the native decoder can keep a model's matrices, by name.

Shapes: O rows of a matrix, I its columns.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch

from headstart.errors import InvalidParameterError
from headstart.models.half_linear import HalfLinear, half_fault, lossless_shift
from headstart.models.int4_linear import Int4Linear, int4_fault
from headstart.models.int8_linear import Int8Linear, int8_fault
from headstart.models.packed_linear import PackedLinear


class Linear(Protocol):
    """A matrix prepared once for the products of decoding."""

    weight_bytes: int
    """What the prepared matrix takes."""

    @property
    def packed(self) -> bool:
        """Whether it is in memory of its own; else it is the tensor that was given."""

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """``x W^T + b`` over any leading shape."""

    def alike(self, x: torch.Tensor) -> torch.Tensor:
        """The same, but a row that comes alone gets the bits that it would get among others."""


Make = Callable[[torch.Tensor, torch.Tensor | None, torch.Tensor | None], Linear]
"""From weight O x I, bias O and the range of each input column, I; the last two may be None."""


@dataclass(frozen=True)
class WeightsFormat:
    """One way to keep matrices."""

    name: str | None
    make: Make
    """For the matrices of the layers."""
    make_head: Make
    """For the LM head."""
    fault: Callable[[], str | None]
    """Why this processor and torch cannot do it; None if they can."""
    wants_ranges: bool = False
    """Whether it makes use of the input columns' ranges."""


def own_format(weight_OI: torch.Tensor, bias_O: torch.Tensor | None = None, _: torch.Tensor | None = None) -> Linear:
    """The numbers as they are; what is float32 only by name, in 16 bits on a CPU."""
    if weight_OI.dtype == torch.float32 and weight_OI.device.type == "cpu" and half_fault() is None:
        shift = lossless_shift(weight_OI)
        if shift is not None:
            return HalfLinear(weight_OI, bias_O, shift)
    return PackedLinear(weight_OI, bias_O)


def _unpacked(weight_OI: torch.Tensor, bias_O: torch.Tensor | None, _: torch.Tensor | None) -> Linear:
    return PackedLinear(weight_OI, bias_O, pack=False)


def _int4(weight_OI: torch.Tensor, bias_O: torch.Tensor | None, _: torch.Tensor | None) -> Linear:
    return Int4Linear(weight_OI, bias_O)


TRACEABLE = WeightsFormat(None, _unpacked, _unpacked, lambda: None)
"""The model's own dtype, as tensors."""
FORMATS: dict[str | None, WeightsFormat] = {
    None: WeightsFormat(None, own_format, own_format, lambda: None),
    "int8": WeightsFormat("int8", Int8Linear, Int8Linear, int8_fault, wants_ranges=True),
    # the LM head is what rounding hurts most, and for several rows at a time 8 bits are faster there
    "int4": WeightsFormat("int4", _int4, Int8Linear, lambda: int4_fault() or int8_fault(), wants_ranges=True),
}


def weights_format(name: str | None) -> WeightsFormat:
    """The format of that name; None is the model's own dtype.

    Raises:
        InvalidParameterError: there is no such format, or this processor or torch cannot do it.
    """
    if name not in FORMATS:
        known = ", ".join(repr(known) for known in FORMATS if known is not None)
        raise InvalidParameterError(f"weights is {name!r}; expected one of {known}, or None for the model's own format")
    found = FORMATS[name]
    if (fault := found.fault()) is not None:
        raise InvalidParameterError(f"weights={name!r} does not work here: {fault}. Leave weights out")
    return found
