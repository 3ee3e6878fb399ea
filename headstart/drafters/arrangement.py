"""How the ranked guesses of Medusa-like heads become a tree: by a static shape, or grown anew each step.

Shapes: B rows, K heads, R ranks, E tree nodes without the root, N nodes with it.
"""

from collections import defaultdict
from collections.abc import Sequence
from typing import Protocol

import torch

from headstart.trees.budget import Budget
from headstart.trees.calibration import Calibration
from headstart.trees.candidate import CandidateTree
from headstart.trees.growth import LARGEST, WIDEST, Envelope
from headstart.trees.shape import TreeShape


class Arrangement(Protocol):
    """Puts guesses into trees."""

    @property
    def nodes(self) -> int:
        """The largest tree it makes, the root included."""

    @property
    def reads_worth(self) -> bool:
        """Whether :meth:`arrange` wants the guesses' log probabilities."""

    def width(self, budgets: Sequence[Budget]) -> int:
        """How many guesses of each head it wants; 0 where no row has room for any."""

    def arrange(
        self,
        guesses_KBR: torch.Tensor,
        log_q_KBR: torch.Tensor | None,
        roots_B: torch.Tensor,
        budgets: Sequence[Budget],
        *,
        drawn: bool = False,
    ) -> CandidateTree:
        """A tree for each row, within its budget. Guesses that were ``drawn`` come in the order of the draws, while ``log_q_KBR``
        is of the likeliest: the shape of the tree must not depend on the draws."""


class StaticTree:
    """The same rank paths every step, of which each row gets as much as its budget allows."""

    reads_worth = False

    def __init__(self, shape: TreeShape) -> None:
        self.shape = shape
        self.nodes = len(shape)

    def width(self, budgets: Sequence[Budget]) -> int:
        return max(shape.width for shape in self._shapes(budgets))

    def arrange(
        self,
        guesses_KBR: torch.Tensor,
        log_q_KBR: torch.Tensor | None,
        roots_B: torch.Tensor,
        budgets: Sequence[Budget],
        *,
        drawn: bool = False,
    ) -> CandidateTree:
        by_shape: dict[TreeShape, list[int]] = defaultdict(list)
        for b, shape in enumerate(self._shapes(budgets)):
            by_shape[shape].append(b)
        parts = []
        for shape, members in by_shape.items():
            mine_KBR = guesses_KBR if len(members) == len(budgets) else guesses_KBR[:, members]
            # of draws without replacement none may be left out, whatever ranks the shape names
            tokens_EB = mine_KBR[shape.head_E, :, shape.sibling_E if drawn else shape.rank_E]
            tokens_BN = torch.cat([roots_B[members][:, None], tokens_EB.T], 1)
            parts.append((members, CandidateTree.of_shape(shape, tokens_BN)))
        return CandidateTree.assembled(len(budgets), parts, roots_B.device)

    def _shapes(self, budgets: Sequence[Budget]) -> list[TreeShape]:
        return [self.shape.limited(nodes=budget.nodes, depth=budget.depth) for budget in budgets]


class GrownTree:
    """A tree grown each step from the heads' own probabilities: wide where they are unsure, deep where they are sure.

    Source: the idea of dynamic draft trees is EAGLE-2's (Li et al. 2024), section 4; here all depths are known at once.
    """

    reads_worth = True

    def __init__(self, depth: int, vocab: int, calibration: Calibration | None = None) -> None:
        self._depth, self._vocab = depth, vocab
        self._calibration = calibration or Calibration.none(depth)
        self.nodes = LARGEST

    def width(self, budgets: Sequence[Budget]) -> int:
        nodes = max(budget.nodes if budget.depth > 0 else 1 for budget in budgets)
        return min(nodes - 1, WIDEST, self._vocab)

    def arrange(
        self,
        guesses_KBR: torch.Tensor,
        log_q_KBR: torch.Tensor | None,
        roots_B: torch.Tensor,
        budgets: Sequence[Budget],
        *,
        drawn: bool = False,
    ) -> CandidateTree:
        assert log_q_KBR is not None, "growing a tree needs the guesses' probabilities"
        nodes = min(max(budget.nodes for budget in budgets), self.nodes)
        envelope = Envelope.of(nodes, self._depth, guesses_KBR.shape[-1])
        limits_B2 = None
        if any(budget.nodes < nodes or budget.depth < self._depth for budget in budgets):
            limits_B2 = torch.tensor([(budget.nodes, budget.depth) for budget in budgets], device=roots_B.device)
        log_worth_BKR = self._calibration.log_worth(log_q_KBR.transpose(0, 1))
        return envelope.grow(guesses_KBR.transpose(0, 1), log_worth_BKR, roots_B, limits_B2)
