"""By how much more often than the calibration says a drafter's guesses are right on one row's text."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headstart.trees.best_first import Guess

_BELIEF = 8.0  # expected right guesses that the calibration's word counts for
_MOST = 0.999


@dataclass
class Gain:
    """Right first guesses over expected ones."""

    right: float = _BELIEF
    expected: float = _BELIEF

    @property
    def value(self) -> float:
        return self.right / self.expected

    def applied(self, guesses: Sequence[Guess]) -> list[Guess]:
        """The guesses with what their chances have turned out to be."""
        gain = self.value
        return [(token, min(gain * chance, _MOST)) for token, chance in guesses]

    def learn(self, tokens: Sequence[int], guesses: Iterable[Sequence[Guess]]) -> None:
        """From the ids that came and the guesses for each, made by the calibration's chances: as far as the first were right."""
        for token, mine in zip(tokens, guesses, strict=False):
            if not mine:
                return
            first, chance = mine[0]
            self.expected += chance
            self.right += first == token
            if first != token:
                return
