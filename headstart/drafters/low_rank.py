"""The LM head and what one head adds to it: two narrow matrices, one after the other.

Shapes: M positions, V projected vocabulary, D hidden.
"""

from collections.abc import Callable

import torch

from headstart.models.protocol import Projection

Product = Callable[[torch.Tensor], torch.Tensor]


class LowRank:
    """A head's own part of its projection, ``x A^T B^T``."""

    def __init__(self, into: Product, out: Product) -> None:
        self._into, self._out = into, out

    def __call__(self, x_MD: torch.Tensor) -> torch.Tensor:
        return self._out(self._into(x_MD))


class Corrected:
    """The whole projection of a head, M x V: the LM head's logits and its own part."""

    def __init__(self, shared: Projection, own: LowRank) -> None:
        self._shared, self._own = shared, own

    def __call__(self, x_MD: torch.Tensor) -> torch.Tensor:
        return self._shared(x_MD) + self._own(x_MD)
