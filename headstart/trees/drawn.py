"""What a drafter drew its candidates from, for rules of acceptance that weigh p against q.

Shapes: B rows, N nodes, P distributions of a row, V base vocabulary.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Drawn:
    """Where the candidates of a tree come from.

    The children of a node stand in the order in which they were drawn, by ascending index, and all that were drawn are there,
    from the first on. Without replacement the second is drawn from q without the first, and so on; with replacement each is
    drawn from q itself. A place that could not be filled (q has fewer tokens) holds padding.

    How many children a node gets must be settled before they are drawn. It may depend on q, on budgets and on the tokens at the
    node's own depth and above; never on a draw at the children's depth or below it. Dropping a child for what it turned out to
    be, or giving nodes to whichever draws look best, would bias the text.
    """

    q_BPV: torch.Tensor
    """float32 probabilities over the base vocabulary; each row of V that a node refers to sums to 1."""
    source_BN: torch.Tensor
    """int64: which of the P distributions the *children* of node n were drawn from; -1 for none."""
    replacement_B: torch.Tensor
    """bool: whether a row's children were drawn with replacement."""

    def to(self, device: torch.device) -> "Drawn":
        """The same on ``device``."""
        return Drawn(self.q_BPV.to(device), self.source_BN.to(device), self.replacement_B.to(device))
