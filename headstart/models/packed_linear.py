"""A matrix prepared once for the products of decoding.

In bfloat16 and float32 on a CPU oneDNN keeps a reordered copy of the weight, which halves the time of a product over few rows. The
calls are private to torch: where they are missing or refuse, it is an ordinary product.
"""

import torch
import torch.nn.functional as F

_PACKABLE = (torch.bfloat16, torch.float32)


class PackedLinear:
    """``x W^T + b`` over any leading shape. The weight given can be let go of."""

    def __init__(self, weight_OI: torch.Tensor, bias_O: torch.Tensor | None = None, *, pack: bool = True) -> None:
        self.bias_O = bias_O
        self._shape_OI = (weight_OI.shape[0], weight_OI.shape[1])
        self._dtype = weight_OI.dtype
        self._packed = _pack(weight_OI) if pack else None
        self._plain = weight_OI if self._packed is None else None
        self.weight_bytes = weight_OI.numel() * weight_OI.element_size()

    @property
    def packed(self) -> bool:
        return self._packed is not None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self._packed is None:
            assert self._plain is not None
            return F.linear(x, self._plain, self.bias_O)
        out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias_O, "none", [], "")
        return out

    def alike(self, x: torch.Tensor) -> torch.Tensor:
        """The same, but a row that comes alone gets the bits that it would get among others."""
        if x.numel() != x.shape[-1] or self._alone_is_alike(torch.get_num_threads()):
            return self(x)
        return self(x.reshape(1, -1).expand(2, -1))[:1].view(*x.shape[:-1], -1)

    def _alone_is_alike(self, threads: int) -> bool:
        key = (self._shape_OI, self._dtype, self.packed, threads)
        known = _ALONE.get(key)
        if known is None:
            known = _ALONE[key] = self._try_alone()
        return known

    @torch.inference_mode()
    def _try_alone(self) -> bool:
        """Random rows, one by one and all at once. Another order of summation changes one number in some thousands."""
        generator = torch.Generator().manual_seed(0)
        x_MI = torch.randn(64, self._shape_OI[1], generator=generator).to(self._dtype)
        together_MO = self(x_MI)
        return all(torch.equal(self(x_MI[row : row + 1]), together_MO[row : row + 1]) for row in range(len(x_MI)))


_ALONE: dict[tuple[tuple[int, int], torch.dtype, bool, int], bool] = {}
"""By shape, dtype, packed or not, and threads: whether one row takes the same way through a product as many do."""


def _pack(weight_OI: torch.Tensor) -> torch.Tensor | None:
    if weight_OI.dtype not in _PACKABLE or weight_OI.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return None
    try:
        packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight_OI.detach().contiguous(), 1)
        torch.ops.mkldnn._linear_pointwise(weight_OI.new_zeros(2, weight_OI.shape[1]), packed, None, "none", [], "")
    except (RuntimeError, AttributeError, TypeError):  # another torch or another processor: see above
        return None
    return packed
