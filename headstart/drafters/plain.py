"""Plain decoding as a drafter: no guesses, one token a step."""

from collections.abc import Sequence

import torch

from headstart.drafters.protocol import DrafterFacts
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree


class PlainDrafter:
    """Proposes the root alone. It is what every speed-up is measured against."""

    facts = DrafterFacts(name="none", depth=0, hidden="none")

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        pass

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        return CandidateTree.roots_only(torch.tensor([row.generated[-1] for row in sampling]))

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        pass

    def stop(self, row: int) -> None:
        pass
