"""Guesses from the text itself: what followed the last ids when they came before, in the prompt or in the answer.

It needs no training and no hidden states. Known as prompt lookup (Saxena 2023); here several matches become branches of a tree, and
what a match is worth is learned while the text is written.

Shapes: T prompt positions, D hidden, M accepted nodes.
"""

from collections.abc import Sequence
from dataclasses import replace

import torch

from headstart.drafters.ngram_index import NgramIndex
from headstart.drafters.protocol import DrafterFacts
from headstart.errors import InvalidParameterError
from headstart.sampling.row import RowSampling
from headstart.trees.best_first import Guess, grow
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree
from headstart.trees.growth import LARGEST

DEEPEST = 32
"""Guesses that follow one another at most."""
NODES = 12
"""Of a tree, the root included, where nobody says: eleven guesses in a row, as copied passages are long. Most stay smaller: a guess
has to be worth its price."""
LEAST_WORTH = 0.02
"""A guess that is right more rarely costs more time in the pass than it saves, wherever it runs."""
_FADE = 0.7  # of an occurrence's weight against the next later one
_BELIEF = 4.0  # observations that the word of _FIRST_TRUST counts for
_FIRST_TRUST = (0.3, 0.55, 0.65, 0.7, 0.75)  # by length of the run; longer ones as the last


class NgramText:
    """The text of one row, and how far its repetitions can be trusted. Implements ``Continuations``.

    Guesses are taken from the longest run of last ids that was seen before, then from shorter ones. The trust in a length is how
    often the right id was among its guesses, where longer runs did not have it; it is learned from the answer as it is written.
    (The blending is that of PPM, Cleary and Witten 1984, with the escape probability learned.)
    """

    def __init__(self, prompt_ids: Sequence[int], *, shortest: int, longest: int) -> None:
        self._index = NgramIndex(shortest=shortest, longest=longest)
        self._index.extend(prompt_ids)
        self._prompt = len(prompt_ids)
        self._trust: dict[tuple[int, bool], tuple[float, float]] = {}

    def catch_up(self, generated: Sequence[int], *, learn: bool = True) -> None:
        """Take the ids that have been written since, and learn from each how good the guesses for it were."""
        for token in generated[len(self._index) - self._prompt :]:
            if learn:
                self._learn(token)
            self._index.append(token)

    def after(self, path: tuple[int, ...]) -> list[Guess]:
        """All that ever followed, the likeliest first; the chances of all together stay below 1."""
        guesses: dict[int, float] = {}
        left = 1.0
        for length, weights in self._levels(path):
            trust = self.trust(length, len(weights) == 1)
            scale = left * trust / sum(weights.values())
            guesses.update((token, weight * scale) for token, weight in weights.items())
            left *= 1.0 - trust
        return sorted(guesses.items(), key=lambda guess: -guess[1])  # stable: among equals the longer run, then the later one

    def trust(self, length: int, single: bool) -> float:
        """The chance that a run of ``length`` ids, which was always followed by the same id (``single``) or not, shows the way."""
        first = _FIRST_TRUST[min(length, len(_FIRST_TRUST)) - 1]
        right, seen = self._trust.get((length, single), (0.0, 0.0))
        return (right + _BELIEF * first) / (seen + _BELIEF)

    def _levels(self, path: tuple[int, ...]) -> list[tuple[int, dict[int, float]]]:
        """By length of run, the longest first: the ids that followed it and no longer run, weighted by their occurrences."""
        levels: list[tuple[int, dict[int, float]]] = []
        known: set[int] = set()
        for length, after in self._index.followers(path):
            weights: dict[int, float] = {}
            weight = 1.0
            for token in after:
                if token not in known:
                    weights[token] = weights.get(token, 0.0) + weight
                weight *= _FADE
            if weights:
                known.update(weights)
                levels.append((length, weights))
        return levels

    def _learn(self, token: int) -> None:
        for length, weights in self._levels(()):
            key = (length, len(weights) == 1)
            right, seen = self._trust.get(key, (0.0, 0.0))
            self._trust[key] = (right + (token in weights), seen + 1.0)
            if token in weights:
                return


class NgramDrafter:
    """Proposes what followed the same ids before; the root alone, a step of plain decoding, where nothing did.

    Rows learn each for itself, so that a row's trees do not depend on its neighbours.

    Args:
        shortest, longest: how many last ids have to have come before, at least and at most.
        least_worth: guesses with a smaller chance are left out.
        device: where trees are made.

    Raises:
        InvalidParameterError: a length below 1, the shortest above the longest, or a worth outside 0 to 1.
    """

    def __init__(
        self,
        *,
        shortest: int = 1,
        longest: int = 5,
        least_worth: float = LEAST_WORTH,
        device: torch.device | None = None,
    ) -> None:
        if not 1 <= shortest <= longest:
            raise InvalidParameterError(f"n-grams of {shortest} to {longest} ids; expected lengths from 1, the shortest first")
        if not 0.0 <= least_worth <= 1.0:
            raise InvalidParameterError(f"least_worth is {least_worth}; expected a chance, 0 to 1")
        self.facts = DrafterFacts(name="ngram", depth=DEEPEST, nodes=LARGEST, hidden="none")
        self._shortest, self._longest, self._least = shortest, longest, least_worth
        self._device = device or torch.device("cpu")
        self._texts: dict[int, NgramText] = {}

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._texts[row] = NgramText(ids, shortest=self._shortest, longest=self._longest)

    def continuations(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> list[NgramText]:
        """Each row's guesses, as what several drafters' trees are grown from."""
        texts = [self._texts[row] for row in rows]
        for text, state, budget in zip(texts, sampling, budgets, strict=True):
            text.catch_up(state.generated, learn=budget.nodes > 1)  # plain decoding has no time for it
        return texts

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        roots = [state.generated[-1] for state in sampling]
        limits = [replace(budget, depth=min(budget.depth, DEEPEST)) for budget in budgets]
        texts = self.continuations(rows, sampling, budgets)
        return grow(roots, texts, limits, least=self._least, device=self._device)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        pass  # every written id is in the row's sampling state at the next proposal

    def stop(self, row: int) -> None:
        self._texts.pop(row, None)
