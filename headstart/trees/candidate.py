"""The candidate tree of one step: what the drafters propose and the base model verifies.

Shapes: B rows, N nodes (the root included and first).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headstart.trees.shape import TreeShape

PAD = -1
"""The id of a node that is only there to fill the batch. It is clamped before the embedding and never accepted."""


@dataclass(frozen=True)
class CandidateTree:
    """Roots and proposed continuations of a batch of rows. Parents come before children; a root's parent is -1.

    A padding node has the id ``PAD``, hangs under the root at depth 0 and is seen by nobody but itself.
    """

    tokens_BN: torch.Tensor
    """int64."""
    parent_BN: torch.Tensor
    """int64, indices of nodes."""
    depth_BN: torch.Tensor
    """int64, 0 for the root."""
    ancestors_BNN: torch.Tensor
    """bool, self included: what each node attends to besides the committed context."""

    @property
    def rows(self) -> int:
        return self.tokens_BN.shape[0]

    @property
    def nodes(self) -> int:
        return self.tokens_BN.shape[1]

    def to(self, device: torch.device) -> "CandidateTree":
        """The same tree on ``device``."""
        if self.tokens_BN.device == device:
            return self
        return CandidateTree(
            self.tokens_BN.to(device), self.parent_BN.to(device), self.depth_BN.to(device), self.ancestors_BNN.to(device)
        )

    @classmethod
    def of_shape(cls, shape: TreeShape, tokens_BN: torch.Tensor) -> "CandidateTree":
        """A tree whose rows all have the same static shape."""
        rows, device = tokens_BN.shape[0], tokens_BN.device
        return cls(
            tokens_BN=tokens_BN,
            parent_BN=shape.parent_tensor_N.to(device).expand(rows, -1),
            depth_BN=shape.depth_tensor_N.to(device).expand(rows, -1),
            ancestors_BNN=shape.ancestors_NN.to(device).expand(rows, -1, -1),
        )

    @classmethod
    def roots_only(cls, roots_B: torch.Tensor) -> "CandidateTree":
        """No guesses: a step of plain decoding."""
        return cls.of_shape(TreeShape([]), roots_B[:, None])

    @classmethod
    def assembled(cls, rows: int, parts: Sequence[tuple[Sequence[int], "CandidateTree"]], device: torch.device) -> "CandidateTree":
        """One tree of ``rows`` rows from parts, each a tree and the rows its own rows take; all else is padding.

        It is on ``device``, wherever the parts are: drafters that guess without the model do so on the CPU.
        """
        if len(parts) == 1 and list(parts[0][0]) == list(range(rows)):
            return parts[0][1].to(device)
        nodes = max((tree.nodes for _, tree in parts), default=1)
        tokens = torch.full((rows, nodes), PAD, dtype=torch.int64, device=device)
        parent = torch.zeros((rows, nodes), dtype=torch.int64, device=device)
        parent[:, 0] = -1
        depth = torch.zeros((rows, nodes), dtype=torch.int64, device=device)
        ancestors = torch.eye(nodes, dtype=torch.bool, device=device).repeat(rows, 1, 1)
        for where, tree in ((where, tree.to(device)) for where, tree in parts):
            index, n = torch.tensor(list(where), dtype=torch.int64, device=device), tree.nodes
            tokens[index, :n] = tree.tokens_BN
            parent[index, :n] = tree.parent_BN
            depth[index, :n] = tree.depth_BN
            ancestors[index, :n, :n] = tree.ancestors_BNN
        return cls(tokens, parent, depth, ancestors)
