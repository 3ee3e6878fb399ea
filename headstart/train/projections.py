"""What heads' states are multiplied by in training: the model's LM head, or matrices of the heads' own that learn as well.

Shapes: K heads, V projected vocabulary, S part of it that a step looks at (or all of it), D hidden.
"""

import torch

from headstart.drafters.heads import MedusaHeads
from headstart.errors import TrainingError
from headstart.train.output_matrix import OutputMatrix


def check_projection(projection: str, softcap: float | None) -> None:
    """Raises TrainingError if such heads would correct an LM head whose logits are capped."""
    if projection == "low-rank" and softcap is not None:
        raise TrainingError(
            "the model caps its logits, and a low-rank projection is added to logits that are not; choose --projection shared or"
            " own"
        )


class Projections:
    """The projections of heads that learn, in the compute dtype."""

    def __init__(self, heads: MedusaHeads, lm_head: OutputMatrix | None, compute: torch.dtype) -> None:
        """``lm_head``, V x D, covers the heads' draft vocabulary; heads whose projections are all their own do without.

        Raises:
            TrainingError: heads correct an LM head whose logits are capped.
        """
        check_projection(heads.config.projection, None if lm_head is None else lm_head.softcap)
        self._heads, self._compute = heads, compute
        self._lm_head = lm_head if heads.config.reads_lm_head else None

    def shared(self, index_S: torch.Tensor | None = None) -> OutputMatrix | None:
        """The LM head's part in all heads, S x D; None where they have none of it."""
        return None if self._lm_head is None else self._lm_head.part(index_S)

    def learned_matrices(self, index_S: torch.Tensor | None = None) -> torch.Tensor | None:
        """The heads' whole matrices, K x S x D in the heads' own precision, through which a gradient finds its way; None where
        they share one."""
        if self._heads.config.projection == "shared":
            return None
        lm_head = self.shared(index_S)
        return self._heads.matrices(None if lm_head is None else lm_head.weight_VD, index_S)

    def matrix_of(self, head: int) -> OutputMatrix:
        """The projection of one head as it is now, V x D: one matrix in the compute dtype.

        A low-rank one is the rounded sum of the LM head and what is added to it; a drafter rounds the two products instead.
        """
        lm_head = self._lm_head
        if self._heads.config.projection == "shared":
            assert lm_head is not None, "these heads share the base model's LM head"
            return lm_head
        with torch.no_grad():
            weight_VD = self._heads.matrix(head, None if lm_head is None else lm_head.weight_VD)
        return OutputMatrix(weight_VD.to(self._compute), None if lm_head is None else lm_head.bias_V)
