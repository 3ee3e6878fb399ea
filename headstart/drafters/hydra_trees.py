"""How the guesses of Hydra heads become a tree: by a static shape, or grown anew each step. Either way level by level.

Shapes: B rows, M open nodes of all rows, R ranks, N tree nodes with the root first; P nodes of a level that have children,
E those children, k tokens of a path below the root.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import torch

from headstart.drafters.hydra_guesses import HydraGuesses, Rows
from headstart.trees.budget import Budget
from headstart.trees.calibration import Calibration
from headstart.trees.candidate import CandidateTree
from headstart.trees.drawn import Drawn
from headstart.trees.growth import LARGEST, WIDEST
from headstart.trees.level_growth import LevelGrowth
from headstart.trees.shape import TreeShape


class LevelTree(Protocol):
    """Asks for guesses level by level and puts them into trees."""

    @property
    def nodes(self) -> int:
        """The largest tree it makes, the root included."""

    def make(self, guesses: HydraGuesses, rows: Rows, roots_B: torch.Tensor, budgets: Sequence[Budget]) -> CandidateTree:
        """A tree for each row, within its budget."""


class GrownLevels:
    """A tree grown each step by the products of the heads' own probabilities along its paths."""

    def __init__(self, depth: int, vocab: int, calibration: Calibration | None = None) -> None:
        self._vocab = vocab
        self._calibration = calibration or Calibration.none(depth)
        self.nodes = LARGEST

    def make(self, guesses: HydraGuesses, rows: Rows, roots_B: torch.Tensor, budgets: Sequence[Budget]) -> CandidateTree:
        growth = LevelGrowth(roots_B, self.limits(budgets))
        ranks = min(growth.ranks, WIDEST, self._vocab)
        while growth.has_open:
            row_M, path_Mk = growth.open_paths()
            tokens_MR, log_q_MR = guesses.best(rows, row_M, path_Mk, ranks)
            assert log_q_MR is not None
            growth.extend(tokens_MR, self.log_worth(log_q_MR, path_Mk.shape[1]))
        return growth.tree()

    def limits(self, budgets: Sequence[Budget]) -> list[tuple[int, int]]:
        """Nodes and depth for each row."""
        depth = len(self._calibration.slope_K)
        return [(min(budget.nodes, self.nodes), min(budget.depth, depth)) for budget in budgets]

    def log_worth(self, log_q_MR: torch.Tensor, head: int) -> torch.Tensor:
        """Log of the chance that a head's guess is right if the path before it is."""
        mine = Calibration(self._calibration.slope_K[head : head + 1], self._calibration.offset_K[head : head + 1])
        return mine.log_worth(log_q_MR[:, None])[:, 0]


class StaticLevels:
    """The same rank paths every step, of which each row gets as much as its budget allows."""

    def __init__(self, shape: TreeShape) -> None:
        self.shape = shape
        self.nodes = len(shape)

    def make(self, guesses: HydraGuesses, rows: Rows, roots_B: torch.Tensor, budgets: Sequence[Budget]) -> CandidateTree:
        alike: dict[tuple[TreeShape, bool], list[int]] = defaultdict(list)
        for b, (budget, state) in enumerate(zip(budgets, rows.sampling, strict=True)):
            shape = self.shape.limited(nodes=budget.nodes, depth=budget.depth)
            alike[shape, state.draft_temperature is not None].append(b)
        parts = []
        for (shape, drawing), members in alike.items():
            fill = self._drawn if drawing else self._ranked
            parts.append((members, fill(guesses, rows, roots_B, shape, torch.tensor(members, device=roots_B.device))))
        return CandidateTree.assembled(len(budgets), parts, roots_B.device)

    def _ranked(
        self, guesses: HydraGuesses, rows: Rows, roots_B: torch.Tensor, shape: TreeShape, index_B: torch.Tensor
    ) -> CandidateTree:
        """Each node its parent's guess of its rank."""
        tokens_BN = torch.zeros(len(index_B), len(shape), dtype=torch.int64, device=roots_B.device)
        tokens_BN[:, 0] = roots_B[index_B]
        for level in _levels(shape, str(roots_B.device)):
            row_M, path_Mk = level.paths(tokens_BN, index_B)
            best_MR, _ = guesses.best(rows, row_M, path_Mk, level.ranks, probabilities=False)
            tokens_BN[:, level.child_E] = best_MR.unflatten(0, (len(index_B), -1))[:, level.parent_E, level.rank_E]
        return CandidateTree.of_shape(shape, tokens_BN)

    def _drawn(
        self, guesses: HydraGuesses, rows: Rows, roots_B: torch.Tensor, shape: TreeShape, index_B: torch.Tensor
    ) -> CandidateTree:
        """Each node one of its parent's draws. The shape is known before anything is drawn, as ``rejection`` needs it."""
        tokens_BN = torch.zeros(len(index_B), len(shape), dtype=torch.int64, device=roots_B.device)
        tokens_BN[:, 0] = roots_B[index_B]
        source_BN = torch.full_like(tokens_BN, -1)
        q: list[torch.Tensor] = []
        for level in _levels(shape, str(roots_B.device)):
            row_M, path_Mk = level.paths(tokens_BN, index_B)
            drawn_MR, q_MV = guesses.draw(rows, row_M, path_Mk, level.draws)
            # of draws without replacement none may be left out, whatever ranks the shape names
            tokens_BN[:, level.child_E] = drawn_MR.unflatten(0, (len(index_B), -1))[:, level.parent_E, level.sibling_E]
            source_BN[:, level.node_P] = torch.arange(len(level.node_P), device=roots_B.device) + sum(each.shape[1] for each in q)
            q.append(q_MV.unflatten(0, (len(index_B), -1)))
        tree = CandidateTree.of_shape(shape, tokens_BN)
        if not q:
            return tree
        replacement = [rows.sampling[b].draft_replacement for b in index_B.tolist()]
        return replace(tree, drawn=Drawn(torch.cat(q, 1), source_BN, torch.tensor(replacement, device=roots_B.device)))


@dataclass(frozen=True)
class _Level:
    """The nodes of one depth that have children, and these."""

    node_P: torch.Tensor
    path_Pk: torch.Tensor
    """Nodes on the path to each of them, below the root, itself included."""
    child_E: torch.Tensor
    """Nodes."""
    parent_E: torch.Tensor
    """Places in P."""
    rank_E: torch.Tensor
    sibling_E: torch.Tensor
    """How many children of its parent come before each."""
    ranks: int
    draws: int
    """Children of a node at most."""

    def paths(self, tokens_BN: torch.Tensor, index_B: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """For all rows of ``tokens_BN``, which stand for the rows ``index_B``: M rows, and the M x k ids of the paths."""
        return index_B.repeat_interleave(len(self.path_Pk)), tokens_BN[:, self.path_Pk].flatten(0, 1)


@lru_cache(maxsize=256)
def _levels(shape: TreeShape, device: str) -> list[_Level]:
    index = {path: node for node, path in enumerate(((), *shape.paths))}
    levels = []
    for depth in range(shape.depth):
        children = [path for path in shape.paths if len(path) == depth + 1]
        parents = sorted({path[:-1] for path in children}, key=lambda path: index[path])
        nodes = [[index[path[:k]] for k in range(1, depth + 1)] for path in parents]
        sibling_E = shape.sibling_E[[index[path] - 1 for path in children]].to(device)
        levels.append(
            _Level(
                node_P=torch.tensor([index[path] for path in parents], device=device),
                path_Pk=torch.tensor(nodes, dtype=torch.int64, device=device).view(len(parents), depth),
                child_E=torch.tensor([index[path] for path in children], device=device),
                parent_E=torch.tensor([parents.index(path[:-1]) for path in children], device=device),
                rank_E=torch.tensor([path[-1] for path in children], device=device),
                sibling_E=sibling_E,
                ranks=max(path[-1] for path in children) + 1,
                draws=int(sibling_E.max()) + 1,
            )
        )
    return levels
