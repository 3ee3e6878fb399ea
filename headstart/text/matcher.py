"""Stop strings: where a text ends because of what it says."""

from collections.abc import Sequence

from headstart.errors import InvalidParameterError
from headstart.text.detokenizer import Detokenizer


class StopStrings:
    """Watches a growing text for stop strings; the engine asks it which ids to keep (it is a ``Matcher``).

    The match is the one that is completed first; of those completed by the same character, the longest. It may begin in an
    earlier id or an earlier call, so the result does not depend on how the ids are cut into calls.

    Args:
        detokenizer: a fresh one; this object feeds it.
        strings: the stop strings; none is allowed.
        min_tokens: a string completed by one of the first ``min_tokens`` ids is text and ends nothing.

    Raises:
        InvalidParameterError: a stop string is empty.
    """

    def __init__(self, detokenizer: Detokenizer, strings: Sequence[str], min_tokens: int = 0) -> None:
        if isinstance(strings, str):
            strings = [strings]
        for string in strings:
            if not string:
                raise InvalidParameterError("a stop string is empty; expected strings of at least one character")
        self._detokenizer = detokenizer
        self._strings = tuple(dict.fromkeys(strings))
        self._overlap = max(map(len, self._strings), default=1) - 1
        self._min_tokens = min_tokens
        self._count = 0
        self._floor = 0  # occurrences that end at or before this place in the text are text
        self._tail = ""  # the last characters of the final text, as many as a stop string may still need
        self._length = 0  # of the final text
        self._untaken = ""
        self._taken = 0
        self._cut: str | None = None
        self._finished = False

    @property
    def text(self) -> str:
        """Everything before the stop string; while there is none, everything that is final."""
        return self._detokenizer.text if self._cut is None else self._cut

    def feed(self, ids: Sequence[int]) -> int | None:
        """Take the next ids. How many of them to keep, the last one completing a stop string; None if none is completed.

        Ids beyond those to keep are not part of the text. Nothing can be fed after a match.
        """
        assert self._cut is None, "ids were fed after a stop string"
        if not self._strings:
            self._untaken += self._detokenizer.feed(ids)
            return None
        for index, token in enumerate(ids):
            if self._feed_one(token):
                return index + 1
        return None

    def take(self) -> str:
        """Text not taken before that can be shown now: no later id can make it part of a stop string."""
        end = len(self._untaken)
        if self._cut is None and not self._finished:
            end -= self._held()
        new, self._untaken = self._untaken[:end], self._untaken[end:]
        self._taken += end
        return new

    def finish(self) -> str:
        """The text has ended, without a (further) stop string: all that has not been taken."""
        if self._cut is None and not self._finished:
            self._untaken += self._detokenizer.finish()
        self._finished = True
        return self.take()

    def _feed_one(self, token: int) -> bool:
        """Whether this id completes a stop string."""
        self._count += 1
        searched = len(self._detokenizer.pending)
        new = self._detokenizer.feed([token])
        pending = self._detokenizer.pending
        seen = self._tail + new + pending
        offset = self._length - len(self._tail)
        # what was pending and still is has been searched; new text, though, may have replaced it
        begin = 0 if new else max(len(self._tail) + searched - self._overlap, 0)
        self._untaken += new
        self._length += len(new)
        self._tail = (self._tail + new)[-self._overlap :] if self._overlap else ""
        if self._count <= self._min_tokens:
            self._floor = self._length + len(pending)
            return False
        start = self._find(seen, begin, self._floor - offset)
        if start is None:
            return False
        self._cut = (self._detokenizer.text + pending)[: offset + start]
        self._untaken = self._cut[self._taken :]
        return True

    def _find(self, text: str, begin: int, floor: int) -> int | None:
        """Where the stop string starts that is completed first after ``floor``, the longest of them."""
        found = []
        for string in self._strings:
            start = text.find(string, max(begin, floor - len(string) + 1, 0))
            if start >= 0:
                found.append((start + len(string), start))
        return min(found)[1] if found else None

    def _held(self) -> int:
        """Length of the longest end of the text that begins a stop string."""
        for length in range(min(self._overlap, len(self._untaken)), 0, -1):
            end = self._untaken[-length:]
            if any(string.startswith(end) for string in self._strings):
                return length
        return 0
