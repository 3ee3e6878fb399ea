"""Medusa: the base model's own last hidden state guesses the next tokens, and a tree of the guesses is checked in one pass.

Source: Medusa (Cai et al. 2024), section 2.1.

Shapes: B rows, T prompt positions, D hidden, M accepted nodes.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from headstart.drafters.arrangement import Arrangement, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.mixed_rows import each_kind
from headstart.drafters.protocol import DrafterFacts
from headstart.drafters.shape_check import check_shape
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree
from headstart.trees.drawn import Drawn


class MedusaDrafter:
    """Heads, and the way their guesses are arranged in a tree: by rank, or drawn from the heads at a ``draft_temperature``.

    Raises:
        TreeError: a static tree is deeper than the heads or wider than their vocabulary.
    """

    def __init__(self, guesses: HeadGuesses, arrangement: Arrangement, *, name: str = "medusa") -> None:
        config = guesses.heads.config
        if isinstance(arrangement, StaticTree):
            check_shape(arrangement.shape, config)
        self.facts = DrafterFacts(name=name, depth=config.num_heads, nodes=arrangement.nodes, hidden="last", samples=True)
        self._guesses = guesses
        self._arrangement = arrangement
        self._hidden: dict[int, torch.Tensor] = {}

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._hidden[row] = hidden_TD[-1]

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        roots_B = torch.tensor([row.generated[-1] for row in sampling], device=self._guesses.device)
        ranks = self._arrangement.width(budgets)
        if not ranks:
            return CandidateTree.roots_only(roots_B)
        drawing = [state.draft_temperature is not None for state in sampling]
        if any(drawing) and not all(drawing):
            return each_kind(self.propose, rows, sampling, budgets, self._guesses.device)
        hidden_BD = torch.stack([self._hidden[row] for row in rows])
        if not all(drawing):
            probabilities = self._arrangement.reads_worth
            guesses_KBR, log_q_KBR = self._guesses.best(hidden_BD, roots_B, sampling, ranks, probabilities=probabilities)
            return self._arrangement.arrange(guesses_KBR, log_q_KBR, roots_B, budgets)
        guesses_KBR, worth_KBR, q_BKV = self._guesses.draw(hidden_BD, roots_B, sampling, ranks)
        tree = self._arrangement.arrange(guesses_KBR, worth_KBR, roots_B, budgets, drawn=True)
        # head k guesses at depth k + 1, the same on all paths: what stands below a node is drawn from the head of its depth
        source_BN = tree.depth_BN.masked_fill(tree.depth_BN >= self.facts.depth, -1)
        replacement_B = torch.tensor([state.draft_replacement for state in sampling], device=roots_B.device)
        return replace(tree, drawn=Drawn(q_BKV, source_BN, replacement_B))

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        self._hidden[row] = hidden_MD[-1]

    def stop(self, row: int) -> None:
        self._hidden.pop(row, None)
