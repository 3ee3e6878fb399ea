"""Hydra: heads that read the candidates before their own, so that a tree is drafted level by level.

Source: Hydra (Ankner et al. 2024), section 3.

Shapes: B rows, T prompt positions, D hidden, M accepted nodes.
"""

from collections.abc import Sequence

import torch

from headstart.drafters.hydra_guesses import HydraGuesses
from headstart.drafters.hydra_trees import LevelTree, StaticLevels
from headstart.drafters.protocol import DrafterFacts
from headstart.drafters.shape_check import check_shape
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree


class HydraDrafter:
    """Heads, and the way their guesses become a tree.

    Raises:
        TreeError: a static tree is deeper than the heads or wider than their vocabulary.
    """

    def __init__(self, guesses: HydraGuesses, tree: LevelTree, *, name: str = "hydra") -> None:
        config = guesses.heads.config
        if isinstance(tree, StaticLevels):
            check_shape(tree.shape, config)
        samples = isinstance(tree, StaticLevels)  # the shape of the other depends on what is drawn, which would be unfair
        self.facts = DrafterFacts(name=name, depth=config.num_heads, nodes=tree.nodes, hidden="last", samples=samples)
        self._guesses = guesses
        self._tree = tree
        self._hidden: dict[int, torch.Tensor] = {}

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._hidden[row] = hidden_TD[-1]

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        roots_B = torch.tensor([row.generated[-1] for row in sampling], device=self._guesses.device)
        if all(budget.nodes < 2 or budget.depth < 1 for budget in budgets):
            return CandidateTree.roots_only(roots_B)
        hidden_BD = torch.stack([self._hidden[row] for row in rows])
        return self._tree.make(self._guesses, self._guesses.rows(hidden_BD, roots_B, sampling), roots_B, budgets)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        self._hidden[row] = hidden_MD[-1]

    def stop(self, row: int) -> None:
        self._hidden.pop(row, None)
