"""The LM head and what one head adds to it: two narrow matrices, one after the other.

Shapes: M positions, V projected vocabulary, D hidden, W narrow width (the rank).
"""

from collections.abc import Callable

import torch

from headstart.models.protocol import Projection

Product = Callable[[torch.Tensor], torch.Tensor]


class LowRankCorrection:
    """What a head adds to the LM head's logits, ``x A^T B^T``."""

    def __init__(self, into: Product, out: Product) -> None:
        """``into`` multiplies by A, W x D; ``out`` by B, V x W."""
        self._into, self._out = into, out

    def __call__(self, x_MD: torch.Tensor) -> torch.Tensor:
        """M x V."""
        return self._out(self._into(x_MD))


class CorrectedProjection:
    """The whole projection of a head: the LM head's logits and what the head adds to them."""

    def __init__(self, shared: Projection, correction: LowRankCorrection) -> None:
        self._shared, self._correction = shared, correction

    def __call__(self, x_MD: torch.Tensor) -> torch.Tensor:
        """Logits, M x V."""
        return self._shared(x_MD) + self._correction(x_MD)
