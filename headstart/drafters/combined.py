"""Several drafters under one node budget: each node goes to the guess that is most likely right, whoever made it.

Guesses of different drafters may follow one another on a path: after a Medusa guess the n-grams know how the text went on before.

Shapes: T prompt positions, D hidden, M accepted nodes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import torch

from headstart.drafters.protocol import DrafterFacts
from headstart.errors import InvalidParameterError
from headstart.sampling.row import RowSampling
from headstart.trees.best_first import Continuations, Guess, grow
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree
from headstart.trees.growth import LARGEST


class Source(Protocol):
    """A drafter that can say what each guess is worth. Methods as in ``Drafter``."""

    @property
    def facts(self) -> DrafterFacts: ...

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None: ...

    def continuations(
        self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]
    ) -> Sequence[Continuations]:
        """Each row's guesses for this step, with chances that hold on this row's text so far."""

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None: ...

    def stop(self, row: int) -> None: ...


class Joined:
    """The guesses of several drafters for one row. An id that several guess is one guess, with the largest of its chances."""

    def __init__(self, parts: Sequence[Continuations]) -> None:
        self._parts = parts

    def after(self, path: tuple[int, ...]) -> list[Guess]:
        chances: dict[int, float] = {}
        for part in self._parts:
            for token, chance in part.after(path):
                if chance > chances.get(token, 0.0):
                    chances[token] = chance
        return sorted(chances.items(), key=lambda guess: -guess[1])


class CombinedDrafter:
    """Grows one tree a row from the guesses of all ``sources``.

    Args:
        least_worth: paths with a smaller chance are left out.
        device: where trees are made.

    Raises:
        InvalidParameterError: fewer than two sources, or one that wants every hidden state of the prompt.
    """

    def __init__(self, sources: Sequence[Source], *, least_worth: float = 0.0, device: torch.device | None = None) -> None:
        if len(sources) < 2:
            raise InvalidParameterError(f"{len(sources)} drafters to combine; expected at least two")
        wanting = [source.facts.name for source in sources if source.facts.hidden == "all"]
        if wanting:
            raise InvalidParameterError(f"{wanting} want all hidden states of the prompt; expected drafters that want the last one")
        depth = max(source.facts.depth for source in sources)
        self.facts = DrafterFacts(name="combined", depth=depth, nodes=LARGEST, hidden="last")
        self._sources = tuple(sources)
        self._least = least_worth
        self._device = device or torch.device("cpu")

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        for source in self._sources:
            source.start(row, ids, hidden_TD)

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        parts = [source.continuations(rows, sampling, budgets) for source in self._sources]
        joined = [Joined(mine) for mine in zip(*parts, strict=True)]
        roots = [state.generated[-1] for state in sampling]
        limits = [replace(budget, depth=min(budget.depth, self.facts.depth)) for budget in budgets]
        return grow(roots, joined, limits, least=self._least, device=self._device)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        for source in self._sources:
            source.commit(row, tokens, hidden_MD)

    def stop(self, row: int) -> None:
        for source in self._sources:
            source.stop(row)
