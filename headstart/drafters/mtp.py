"""Self-speculation of a model that was trained to predict several tokens: its further heads draft, and the model checks.

Heads that are transformer layers read the trunk's output at every position of the text, prompt and answer; what they make of the
last one is ranked and arranged in a tree as Medusa's guesses are. Source: Gloeckle et al. 2024, section 2.

Shapes: B rows, T prompt positions, M accepted nodes, K heads, D hidden.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from headstart.drafters.arrangement import Arrangement
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.mtp_cache import MtpCache
from headstart.drafters.mtp_heads import MtpHeads
from headstart.models.protocol import BaseModel
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree


class MtpDrafter:
    """MTP heads, and the way their guesses are arranged in a tree. It opens the model's tap.

    Raises:
        TreeError: a static tree is deeper than the heads or wider than their vocabulary.
    """

    def __init__(self, guesses: HeadGuesses, model: BaseModel, arrangement: Arrangement, *, name: str = "mtp") -> None:
        heads = guesses.heads
        assert isinstance(heads, MtpHeads), "these heads read the last hidden state; the drafter medusa is theirs"
        self._trees = MedusaDrafter(guesses, arrangement, name=name)
        self._wanted = arrangement
        self._cache = MtpCache(heads, max_rows=model.cache.max_rows, max_tokens=model.cache.max_tokens)
        self.facts = replace(self._trees.facts, hidden="all", layer="trunk")
        model.tap.open()

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._cache.add(row, hidden_TD)
        self._cache.read([row])  # a long prompt's states are not kept until its first step

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        if self._wanted.width(budgets):
            states_BKD = self._cache.states(rows)
            for row, states_KD in zip(rows, states_BKD, strict=True):
                self._trees.commit(row, (), states_KD[None])
        return self._trees.propose(rows, sampling, budgets)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        self._cache.add(row, hidden_MD)

    def stop(self, row: int) -> None:
        self._cache.remove(row)
        self._trees.stop(row)
