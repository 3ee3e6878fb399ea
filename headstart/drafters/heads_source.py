"""Medusa heads as one of several drafters that share a tree.

Shapes: B rows, K heads, R ranks, T prompt positions, D hidden, M accepted nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from headstart.drafters.gain import Gain
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.protocol import DrafterFacts
from headstart.sampling.row import RowSampling
from headstart.trees.best_first import Guess
from headstart.trees.budget import Budget
from headstart.trees.calibration import Calibration
from headstart.trees.growth import WIDEST


@dataclass
class HeadsOfRow:
    """One row's guesses by depth, and by how much more often than the calibration says they are right on its text."""

    hidden_D: torch.Tensor
    gain: Gain = field(default_factory=Gain)
    guesses_K: list[list[Guess]] = field(default_factory=list)

    def after(self, path: tuple[int, ...]) -> list[Guess]:
        """The guesses of one depth are the same on all paths."""
        if len(path) >= len(self.guesses_K):
            return []
        return self.gain.applied(self.guesses_K[len(path)])

    def learn(self, tokens: Sequence[int]) -> None:
        """From the ids that came."""
        self.gain.learn(tokens, self.guesses_K)


class HeadsSource:
    """The heads' guesses, each worth what the heads' calibration says, corrected by what was seen on the row's own text."""

    def __init__(self, guesses: HeadGuesses, calibration: Calibration | None) -> None:
        config = guesses.heads.config
        self.facts = DrafterFacts(name="medusa", depth=config.num_heads, hidden="last")
        self._guesses = guesses
        self._calibration = calibration or Calibration.none(config.num_heads)
        self._widest = min(WIDEST, config.projected_vocab)
        self._rows: dict[int, HeadsOfRow] = {}

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._rows[row] = HeadsOfRow(hidden_TD[-1])

    def continuations(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> list[HeadsOfRow]:
        mine = [self._rows[row] for row in rows]
        ranks = min(self._widest, max(budget.nodes if budget.depth > 0 else 1 for budget in budgets) - 1)
        if ranks < 1:
            for row in mine:
                row.guesses_K = []
            return mine
        hidden_BD = torch.stack([row.hidden_D for row in mine])
        roots_B = torch.tensor([state.generated[-1] for state in sampling], device=self._guesses.device)
        guesses_KBR, log_q_KBR = self._guesses.best(hidden_BD, roots_B, sampling, ranks, probabilities=True)
        assert log_q_KBR is not None
        chance_BKR = self._calibration.log_worth(log_q_KBR.transpose(0, 1)).exp()
        for row, guesses_KR, chance_KR in zip(mine, guesses_KBR.transpose(0, 1).tolist(), chance_BKR.tolist(), strict=True):
            row.guesses_K = [
                [(token, chance) for token, chance in zip(guesses_R, chance_R, strict=True) if chance > 0.0]
                for guesses_R, chance_R in zip(guesses_KR, chance_KR, strict=True)
            ]
        return mine

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        mine = self._rows[row]
        mine.learn(tokens)
        mine.hidden_D = hidden_MD[-1]

    def stop(self, row: int) -> None:
        self._rows.pop(row, None)
