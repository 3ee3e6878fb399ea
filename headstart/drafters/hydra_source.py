"""Hydra heads as one of several drafters that share a tree.

Shapes: B rows, M open nodes of all rows, R ranks, T prompt positions, D hidden, M accepted nodes in :meth:`HydraSource.commit`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from headstart.drafters.gain import Gain
from headstart.drafters.hydra_guesses import HydraGuesses
from headstart.drafters.hydra_trees import GrownLevels
from headstart.drafters.protocol import DrafterFacts
from headstart.sampling.row import RowSampling
from headstart.trees.best_first import Guess
from headstart.trees.budget import Budget
from headstart.trees.calibration import Calibration
from headstart.trees.growth import WIDEST
from headstart.trees.level_growth import LevelGrowth

Path = tuple[int, ...]


@dataclass
class HydraOfRow:
    """One row's guesses by the path before them."""

    hidden_D: torch.Tensor
    gain: Gain = field(default_factory=Gain)
    guesses: dict[Path, list[Guess]] = field(default_factory=dict)

    def after(self, path: Path) -> list[Guess]:
        """Nothing after paths that the heads' own tree would not hold."""
        return self.gain.applied(self.guesses.get(path, ()))

    def learn(self, tokens: Sequence[int]) -> None:
        """From the ids that came, by the guesses after those before them."""
        self.gain.learn(tokens, (self.guesses.get(tuple(tokens[:k]), ()) for k in range(len(tokens))))


class HydraSource:
    """The heads' guesses after every path that their own best tree goes on from, each worth what the heads' calibration says,
    corrected by what was seen on the row's own text."""

    def __init__(self, guesses: HydraGuesses, calibration: Calibration | None) -> None:
        config = guesses.heads.config
        self.facts = DrafterFacts(name="hydra", depth=config.num_heads, hidden="last")
        self._guesses = guesses
        self._levels = GrownLevels(config.num_heads, config.projected_vocab, calibration)
        self._widest = min(WIDEST, config.projected_vocab)
        self._rows: dict[int, HydraOfRow] = {}

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._rows[row] = HydraOfRow(hidden_TD[-1])

    def continuations(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> list[HydraOfRow]:
        mine = [self._rows[row] for row in rows]
        for row in mine:
            row.guesses = {}
        if all(budget.nodes < 2 or budget.depth < 1 for budget in budgets):
            return mine
        roots_B = torch.tensor([state.generated[-1] for state in sampling], device=self._guesses.device)
        growth = LevelGrowth(roots_B, self._levels.limits(budgets))
        known = self._guesses.rows(torch.stack([row.hidden_D for row in mine]), roots_B, sampling)
        while growth.has_open:
            row_M, path_Mk = growth.open_paths()
            tokens_MR, log_q_MR = self._guesses.best(known, row_M, path_Mk, min(growth.ranks, self._widest))
            assert log_q_MR is not None
            log_worth_MR = self._levels.log_worth(log_q_MR, path_Mk.shape[1])
            growth.extend(tokens_MR, log_worth_MR)
            found = zip(row_M.tolist(), path_Mk.tolist(), tokens_MR.tolist(), log_worth_MR.exp().tolist(), strict=True)
            for b, path, tokens, chances in found:
                guesses = zip(tokens, chances, strict=True)
                mine[b].guesses[tuple(path)] = [(token, chance) for token, chance in guesses if chance > 0.0]
        return mine

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        mine = self._rows[row]
        mine.learn(tokens)
        mine.hidden_D = hidden_MD[-1]

    def stop(self, row: int) -> None:
        self._rows.pop(row, None)
