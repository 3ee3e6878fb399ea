"""The feed-forward part of a layer: two joined products with a gate between, and one back.

Shapes: D hidden.
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F

from headstart.models.weights_format import Linear

Product = Callable[[Linear, torch.Tensor], torch.Tensor]
"""How a matrix multiplies: as it comes, or so that a row that comes alone gets the bits that it would get among others."""

ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": F.silu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


class GatedMlp:
    """``down(activation(gate x) * up x)``, ... x D to ... x D.

    Args:
        activation: a key of ``ACTIVATIONS``.
    """

    def __init__(self, gate_up: Linear, down: Linear, activation: str, product: Product) -> None:
        self.gate_up, self.down = gate_up, down
        self._activation, self._product = ACTIVATIONS[activation], product

    @property
    def weight_bytes(self) -> int:
        return self.gate_up.weight_bytes + self.down.weight_bytes

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        gate, up = self._product(self.gate_up, x).chunk(2, -1)
        return self._product(self.down, self._activation(gate).mul_(up))
