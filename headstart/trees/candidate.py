"""The candidate tree of one step: what the drafters propose and the base model verifies.

Shapes: B rows, N nodes (the root included and first).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headstart.trees.drawn import Drawn
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
    drawn: Drawn | None = None
    """What candidates were drawn from, where a drafter drew any."""

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
            self.tokens_BN.to(device),
            self.parent_BN.to(device),
            self.depth_BN.to(device),
            self.ancestors_BNN.to(device),
            None if self.drawn is None else self.drawn.to(device),
        )

    def read(self, *beside_BN: torch.Tensor) -> list[list[list[int]]]:
        """Ids, parents and whatever int64 B x N is asked for beside them, as lists.

        All of it is one transfer, so that the host waits for a device once; ids and parents are kept for the next call.
        """
        kept: list[list[list[int]]] | None = self.__dict__.get("_kept")
        if kept is None or beside_BN:
            device = self.tokens_BN.device
            read = torch.stack([self.tokens_BN, self.parent_BN, *(one.to(device) for one in beside_BN)]).tolist()
            self.__dict__["_kept"] = kept = read[:2]
            return read
        return kept

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
        return cls(tokens, parent, depth, ancestors, _joined(rows, nodes, parts, device))


def _joined(rows: int, nodes: int, parts: Sequence[tuple[Sequence[int], CandidateTree]], device: torch.device) -> Drawn | None:
    """What the parts' candidates were drawn from; None where nobody drew."""
    drawn = [(list(where), part.drawn.to(device)) for where, part in parts if part.drawn is not None]
    if not drawn:
        return None
    vocab = drawn[0][1].q_BPV.shape[-1]
    q_BPV = torch.zeros((rows, max(mine.q_BPV.shape[1] for _, mine in drawn), vocab), device=device)
    source_BN = torch.full((rows, nodes), -1, dtype=torch.int64, device=device)
    replacement_B = torch.zeros(rows, dtype=torch.bool, device=device)
    for where, mine in drawn:
        index = torch.tensor(where, dtype=torch.int64, device=device)
        q_BPV[index, : mine.q_BPV.shape[1]] = mine.q_BPV
        source_BN[index, : mine.source_BN.shape[1]] = mine.source_BN
        replacement_B[index] = mine.replacement_B
    return Drawn(q_BPV, source_BN, replacement_B)
