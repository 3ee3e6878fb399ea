"""An LM head as a matrix, over the tokens that the heads choose from.

Shapes: V projected vocabulary, D hidden, S part of V.
"""

from dataclasses import dataclass

import torch

from headstart.models.protocol import BaseModel


@dataclass(frozen=True)
class OutputMatrix:
    """The part of an LM head that the draft vocabulary needs, as a matrix: V x D, and V where there is a bias."""

    weight_VD: torch.Tensor
    bias_V: torch.Tensor | None

    def part(self, index_S: torch.Tensor | None) -> "OutputMatrix":
        """The rows at ``index_S``; None is all of them."""
        if index_S is None:
            return self
        return OutputMatrix(self.weight_VD[index_S], None if self.bias_V is None else self.bias_V[index_S])


def shared_matrix(model: BaseModel, draft_ids_V: torch.Tensor | None, dtype: torch.dtype) -> OutputMatrix:
    """Read the LM head through the model's own projection, whatever it is made of (quantised, scaled, on any device).

    A unit vector gives a column. Logits that small pass a soft-cap unchanged, and above it the order of tokens is the same.
    """
    facts = model.facts
    project = model.projection(draft_ids_V)
    with torch.inference_mode():
        unit_DD = torch.eye(facts.hidden_size, dtype=facts.dtype, device=facts.device)
        bias_V = project(torch.zeros_like(unit_DD[:2]))[0].float()
        weight_VD = (project(unit_DD).float() - bias_V).T
    has_bias = bool(bias_V.any())
    # clones: what inference mode made cannot take part in a backward pass
    return OutputMatrix(weight_VD.to(dtype).clone().contiguous(), bias_V.to(dtype).clone() if has_bias else None)
