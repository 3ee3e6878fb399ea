"""An LM head as a matrix, over the tokens that the heads choose from.

Shapes: V projected vocabulary, D hidden, S part of V.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F

from headstart.models.protocol import BaseModel


@dataclass(frozen=True)
class OutputMatrix:
    """The part of an LM head that the draft vocabulary needs, as a matrix: V x D, and V where there is a bias."""

    weight_VD: torch.Tensor
    bias_V: torch.Tensor | None
    softcap: float | None = None
    """What bounds its logits."""

    def logits(self, states_RD: torch.Tensor, log_weight_V: torch.Tensor | None = None) -> torch.Tensor:
        """Logits of states, R x V, the soft-cap included; ``log_weight_V`` is added to them."""
        logits_RV = F.linear(states_RD, self.weight_VD, self.bias_V)
        if self.softcap is not None:
            logits_RV = logits_RV.div_(self.softcap).tanh_().mul_(self.softcap)
        # a bias would be copied to all rows first
        return logits_RV if log_weight_V is None else logits_RV.add_(log_weight_V.to(logits_RV.device, logits_RV.dtype))

    def part(self, index_S: torch.Tensor | None) -> "OutputMatrix":
        """The rows at ``index_S``; None is all of them."""
        if index_S is None:
            return self
        return OutputMatrix(self.weight_VD[index_S], None if self.bias_V is None else self.bias_V[index_S], self.softcap)


def shared_matrix(model: BaseModel, draft_ids_V: torch.Tensor | None, dtype: torch.dtype) -> OutputMatrix:
    """Read the LM head through the model's own projection, whatever it is made of (quantised, scaled, on any device).

    A unit vector gives a column; what a soft-cap does to it is undone, and the cap goes with the matrix.
    """
    facts = model.facts
    project = model.projection(draft_ids_V)

    def uncapped(hidden: torch.Tensor) -> torch.Tensor:
        logits = project(hidden).float()
        return logits if facts.softcap is None else (logits / facts.softcap).atanh() * facts.softcap

    with torch.inference_mode():
        unit_DD = torch.eye(facts.hidden_size, dtype=facts.dtype, device=facts.device)
        bias_V = uncapped(torch.zeros_like(unit_DD[:2]))[0]
        weight_VD = (uncapped(unit_DD) - bias_V).T
    has_bias = bool(bias_V.any())
    # clones: what inference mode made cannot take part in a backward pass
    return OutputMatrix(weight_VD.to(dtype).clone().contiguous(), bias_V.to(dtype).clone() if has_bias else None, facts.softcap)
