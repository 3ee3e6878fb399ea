"""Where each short run of ids was seen in a text that grows, and what followed it there."""

from array import array
from collections.abc import Iterable, Sequence

RECENT = 16
"""How many occurrences of a run are looked at, the latest first."""


class NgramIndex:
    """All runs of ``shortest`` to ``longest`` ids that something follows.

    Adding an id takes one dictionary entry for each length, looking a run up one dictionary read; the text is never searched.
    Occurrences of a run are chained from the latest back.
    """

    def __init__(self, *, shortest: int, longest: int) -> None:
        self.ids: list[int] = []
        self._lengths = range(shortest, longest + 1)
        self._latest: list[dict[tuple[int, ...], int]] = [{} for _ in self._lengths]
        """By length: a run, and where the id lies that followed it last."""
        self._before: list[array[int]] = [array("q") for _ in self._lengths]
        """By length, for each place of the text: the place that followed the same run before, or -1."""

    def __len__(self) -> int:
        return len(self.ids)

    def extend(self, ids: Iterable[int]) -> None:
        for token in ids:
            self.append(token)

    def append(self, token: int) -> None:
        ids, place = self.ids, len(self.ids)
        for length, latest, before in zip(self._lengths, self._latest, self._before, strict=True):
            if length > place:
                before.append(-1)
                continue
            run = tuple(ids[place - length :])
            before.append(latest.get(run, -1))
            latest[run] = place
        ids.append(token)

    def followers(self, path: Sequence[int] = ()) -> list[tuple[int, list[int]]]:
        """What followed the end of the text, ``path`` put behind it: for each length of run that was seen, the longest first,
        the ids that came after it, the latest first."""
        longest = self._lengths[-1]
        end = (*self.ids[-longest:], *path)[-longest:]
        found: list[tuple[int, list[int]]] = []
        for length, latest, before in zip(self._lengths, self._latest, self._before, strict=True):
            place = latest.get(end[-length:], -1) if length <= len(end) else -1
            if place < 0:
                break  # what ends with it was not seen either
            after: list[int] = []
            while place >= 0 and len(after) < RECENT:
                after.append(self.ids[place])
                place = before[place]
            found.append((length, after))
        found.reverse()
        return found
