"""A matrix prepared once for the products of decoding.

In bfloat16 on a CPU oneDNN keeps a reordered copy of the weight, which halves the time of a product over few rows. The calls
are private to torch: where they are missing or refuse, it is an ordinary product.
"""

import torch
import torch.nn.functional as F


class PackedLinear:
    """``x W^T + b`` over any leading shape. The weight given can be let go of."""

    def __init__(self, weight_OI: torch.Tensor, bias_O: torch.Tensor | None = None) -> None:
        self.bias_O = bias_O
        self._packed = _pack(weight_OI)
        self._plain = weight_OI if self._packed is None else None

    @property
    def packed(self) -> bool:
        return self._packed is not None

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        if self._packed is None:
            assert self._plain is not None
            return F.linear(x, self._plain, self.bias_O)
        out: torch.Tensor = torch.ops.mkldnn._linear_pointwise(x, self._packed, self.bias_O, "none", [], "")
        return out


def _pack(weight_OI: torch.Tensor) -> torch.Tensor | None:
    if weight_OI.dtype != torch.bfloat16 or weight_OI.device.type != "cpu" or not torch.backends.mkldnn.is_available():
        return None
    try:
        packed: torch.Tensor = torch.ops.mkldnn._reorder_linear_weight(weight_OI.detach().contiguous(), 1)
        torch.ops.mkldnn._linear_pointwise(weight_OI.new_zeros(2, weight_OI.shape[1]), packed, None, "none", [], "")
    except (RuntimeError, AttributeError, TypeError):  # another torch or another processor: see above
        return None
    return packed
