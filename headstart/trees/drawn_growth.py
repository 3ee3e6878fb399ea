"""Trees of candidates drawn at random, grown level by level: how many children a node gets is settled before they are drawn.

Half of the nodes that are left go to each level, so that a few draws at the root are followed by fewer below; they are given to the
open nodes by the chance that each is reached, the likelier first. How often a draw is accepted is not how likely q finds it (were q
the base model's p, the first draw would always be): what q can tell is how sure it is. So the first child counts with the largest
probability of q, each further one with as much of what is left. That depends on the budget and on q at the parents, and on
nothing that is drawn below them, as :class:`headstart.trees.drawn.Drawn` asks. (With one child a node it is the chain of Leviathan
et al. 2023; Sequoia, Chen et al. 2024, section 3, is about trees without replacement.)

Shapes: B rows, M open nodes of all rows, C children of a node, N nodes with the root first, P distributions, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from headstart.trees.candidate import PAD, CandidateTree
from headstart.trees.drawn import Drawn

Path = tuple[int, ...]


@dataclass
class _Row:
    nodes: int
    depth: int
    tokens: list[int]
    parent: list[int] = field(default_factory=lambda: [-1])
    path: list[Path] = field(default_factory=lambda: [()])
    log_chance: list[float] = field(default_factory=lambda: [0.0])
    source: list[int] = field(default_factory=lambda: [-1])
    q_PV: list[torch.Tensor] = field(default_factory=list)
    open: list[tuple[int, int]] = field(default_factory=list)
    """Nodes that are to get children, and how many."""


class DrawnGrowth:
    """One step's trees while they grow. Alternate :attr:`open_paths` and :meth:`extend` until nothing is open.

    Args:
        roots: the root ids.
        limits: per row the largest number of nodes (root included) and the largest depth.
        least: the log of a chance; a node with a smaller one gets no children.
        branches: the most children of a node; None is any number.
        replacement: per row, whether children are drawn with replacement.
    """

    def __init__(
        self,
        roots: Sequence[int],
        limits: Sequence[tuple[int, int]],
        *,
        least: float,
        branches: int | None,
        replacement: Sequence[bool],
    ) -> None:
        self._rows = [_Row(nodes, depth, [root]) for root, (nodes, depth) in zip(roots, limits, strict=True)]
        self._least, self._branches, self._replacement = least, branches, replacement
        for row in self._rows:
            self._open(row, [0])

    @property
    def has_open(self) -> bool:
        return any(row.open for row in self._rows)

    @property
    def most(self) -> int:
        """Children that an open node gets at most."""
        return max((count for row in self._rows for _, count in row.open), default=0)

    def open_paths(self) -> list[tuple[int, Path]]:
        """Row and path below the root of each open node, M."""
        return [(b, row.path[node]) for b, row in enumerate(self._rows) for node, _ in row.open]

    def extend(self, tokens_MC: torch.Tensor, q_MV: torch.Tensor) -> None:
        """What was drawn below the open nodes in order, at least ``most`` each, -1 for none; and q, which it was drawn from."""
        drawn = iter(zip(tokens_MC.tolist(), q_MV.max(-1).values.tolist(), q_MV, strict=True))
        for row in self._rows:
            parents, row.open = row.open, []
            born: list[int] = []
            for (node, count), (tokens, sure, q_V) in zip(parents, drawn, strict=False):
                row.source[node] = len(row.q_PV)
                row.q_PV.append(q_V)
                for place, token in enumerate(tokens[:count]):
                    row.tokens.append(token)
                    row.parent.append(node)
                    row.path.append((*row.path[node], token))
                    unsure = place * math.log1p(-sure) if sure < 1 else -math.inf if place else 0.0
                    row.log_chance.append(row.log_chance[node] + math.log(sure) + unsure)
                    row.source.append(-1)
                    if token != PAD:
                        born.append(len(row.tokens) - 1)
            self._open(row, _different(row, born))

    def tree(self) -> CandidateTree:
        """The trees, and what their nodes were drawn from."""
        device = next((q_V.device for row in self._rows for q_V in row.q_PV), torch.device("cpu"))
        nodes = max(len(row.tokens) for row in self._rows)
        tokens_BN, source_BN = (torch.full((len(self._rows), nodes), -1, dtype=torch.int64) for _ in range(2))
        parent_BN, depth_BN = (torch.zeros((len(self._rows), nodes), dtype=torch.int64) for _ in range(2))
        parent_BN[:, 0] = -1
        ancestors_BNN = torch.eye(nodes, dtype=torch.bool).repeat(len(self._rows), 1, 1)
        for b, row in enumerate(self._rows):
            tokens_BN[b, : len(row.tokens)] = torch.tensor(row.tokens)
            source_BN[b, : len(row.tokens)] = torch.tensor(row.source)
            for node in range(1, len(row.tokens)):
                if row.tokens[node] != PAD:
                    parent_BN[b, node], depth_BN[b, node] = row.parent[node], len(row.path[node])
                    ancestors_BNN[b, node] |= ancestors_BNN[b, row.parent[node]]
        tree = CandidateTree(tokens_BN, parent_BN, depth_BN, ancestors_BNN).to(device)
        most = max(len(row.q_PV) for row in self._rows)
        if not most:
            return tree
        vocab = next(q_V for row in self._rows for q_V in row.q_PV).shape[-1]
        q_BPV = torch.zeros(len(self._rows), most, vocab, device=device)
        for b, row in enumerate(self._rows):
            if row.q_PV:
                q_BPV[b, : len(row.q_PV)] = torch.stack(row.q_PV)
        drawn = Drawn(q_BPV, source_BN.to(device), torch.tensor(list(self._replacement), device=device))
        return CandidateTree(tree.tokens_BN, tree.parent_BN, tree.depth_BN, tree.ancestors_BNN, drawn)

    def _open(self, row: _Row, level: Sequence[int]) -> None:
        """Give the nodes of a level their numbers of children."""
        left = row.nodes - len(row.tokens)
        worthy = [node for node in level if row.log_chance[node] >= self._least and len(row.path[node]) < row.depth]
        if left < 1 or not worthy:
            return
        worthy.sort(key=lambda node: -row.log_chance[node])  # stable
        last = len(row.path[worthy[0]]) + 1 == row.depth
        give = left = left if last and self._branches != 1 else -(-left // 2)
        weight = torch.tensor([row.log_chance[node] for node in worthy]).softmax(0).tolist()
        for node, share in zip(worthy, weight, strict=True):
            count = min(left, max(1, round(share * give)), self._branches or left)
            if not count:
                break
            row.open.append((node, count))
            left -= count


def _different(row: _Row, nodes: Sequence[int]) -> list[int]:
    """One node for each path: with replacement an id can come twice, and the first of them takes what may follow."""
    return list({row.path[node]: node for node in reversed(nodes)}.values())[::-1]
