"""Medusa: the base model's own last hidden state guesses the next tokens, and a tree of the guesses is checked in one pass.

Source: Medusa (Cai et al. 2024), section 2.1.

Shapes: B rows, T prompt positions, D hidden, M accepted nodes.
"""

from collections.abc import Sequence

import torch

from headstart.drafters.arrangement import Arrangement, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.protocol import Budget, DrafterFacts
from headstart.errors import TreeError
from headstart.sampling.row import RowSampling
from headstart.trees.candidate import CandidateTree


class MedusaDrafter:
    """Heads, and the way their guesses are arranged in a tree.

    Raises:
        TreeError: a static tree is deeper than the heads or wider than their vocabulary.
    """

    def __init__(self, guesses: HeadGuesses, arrangement: Arrangement, *, name: str = "medusa") -> None:
        config = guesses.heads.config
        if isinstance(arrangement, StaticTree):
            tree = arrangement.shape
            if tree.depth > config.num_heads:
                raise TreeError(
                    f"the tree is {tree.depth} deep, but there are {config.num_heads} heads; cut it with"
                    f" tree.limited(depth={config.num_heads}) or train more heads"
                )
            if tree.width > config.projected_vocab:
                raise TreeError(
                    f"the tree asks for guess number {tree.width} of a head that knows {config.projected_vocab} tokens; cut it with"
                    f" tree.limited(width={config.projected_vocab})"
                )
        self.facts = DrafterFacts(name=name, depth=config.num_heads, nodes=arrangement.nodes, hidden="last")
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
        hidden_BD = torch.stack([self._hidden[row] for row in rows])
        probabilities = self._arrangement.reads_worth
        guesses_KBR, log_q_KBR = self._guesses.best(hidden_BD, roots_B, sampling, ranks, probabilities=probabilities)
        return self._arrangement.arrange(guesses_KBR, log_q_KBR, roots_B, budgets)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        self._hidden[row] = hidden_MD[-1]

    def stop(self, row: int) -> None:
        self._hidden.pop(row, None)
