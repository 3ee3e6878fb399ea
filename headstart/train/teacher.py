"""Soft targets: what the base model thought of all tokens when it chose the one that a head has to guess.

Shapes: K heads, B examples, R rows of a slice, V projected vocabulary (or the part of it that a step looks at), D hidden.
"""

from dataclasses import dataclass

import torch

from headstart.train.output_matrix import OutputMatrix


@dataclass(frozen=True)
class Teacher:
    """The base model's own distributions, from the states that its tokens were chosen from."""

    matrix: OutputMatrix
    """The LM head over the same tokens as the loss."""
    states_KBD: torch.Tensor
    known_KB: torch.Tensor
    """Where there is a state; elsewhere the label alone is the target."""
    weight: float
    """The distribution's part of the target, 0 to 1."""

    def share(self, head: int, rows: slice, log_weight_V: torch.Tensor | None) -> torch.Tensor:
        """``weight`` times the distribution for ``rows``, R x V; zeros where there is no state."""
        logits_RV = self.matrix.logits(self.states_KBD[head, rows], log_weight_V)
        return torch.softmax(logits_RV, -1).mul_((self.known_KB[head, rows] * self.weight).to(logits_RV.dtype)[:, None])
