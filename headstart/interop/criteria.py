"""Stopping criteria of transformers, asked after each token of a block, so that a stop in mid-block ends the text there.

Shapes: B rows of the whole batch, T positions, padding included.
"""

from collections.abc import Callable, Sequence

import torch
from transformers import EosTokenCriteria, MaxLengthCriteria, MaxTimeCriteria, StoppingCriteriaList, StopStringCriteria

from headstart.errors import InvalidParameterError

Scores = Callable[[Sequence[int]], tuple[torch.Tensor, ...] | None]
"""Of the new ids of a row: what ``output_scores`` has for them; None where it was not asked for."""


_ROWLESS = (EosTokenCriteria, MaxLengthCriteria, MaxTimeCriteria, StopStringCriteria)
"""Criteria that keep nothing per row."""


def plain_stops(criteria: StoppingCriteriaList) -> frozenset[int] | None:
    """The ids that end a text, where nothing but them and the length does; else None: the criteria themselves must be asked."""
    if any(type(one) not in (EosTokenCriteria, MaxLengthCriteria) for one in criteria):
        return None
    return frozenset(int(token) for one in criteria if isinstance(one, EosTokenCriteria) for token in one.eos_token_id.reshape(-1))


class Together:
    """Where each row of a batch ended, for batches that end together.

    Without a criterion for end-of-text ids ``generate`` has nothing to put after a row's end: all rows go on until the last one
    has ended.
    """

    def __init__(self, rows: int) -> None:
        self._ends: list[int | None] = [None] * rows

    def ended(self, row: int, length: int) -> None:
        """A row had ``length`` new ids when it ended; the first time counts."""
        if self._ends[row] is None:
            self._ends[row] = length

    @property
    def rows(self) -> int:
        return len(self._ends)

    @property
    def end(self) -> int | None:
        """New ids of every row; None while some row has not ended."""
        return None if None in self._ends else max(end for end in self._ends if end is not None)


class CriteriaMatcher:
    """The engine's :class:`Matcher` for one row: shows the criteria the row as ``generate`` would, padding included.

    The other rows of the batch may be further or not so far, so each of them is shown as this row: a criterion that keeps
    something per row finds it at the row's own place. (Those of transformers keep nothing and are shown the one row.)
    """

    def __init__(
        self, criteria: StoppingCriteriaList, prompt_T: torch.Tensor, row: int, together: Together, *, pads: bool, scores: Scores
    ) -> None:
        self._criteria = criteria
        self._ids_T = prompt_T
        self._row = row
        self._together = together
        self._pads = pads
        self._scores = scores
        self._new: list[int] = []

    def feed(self, ids: Sequence[int]) -> int | None:
        for kept, token in enumerate(ids, 1):
            self._new.append(token)
            self._ids_T = torch.cat([self._ids_T, self._ids_T.new_tensor([token])])
            if self._stops():
                self._together.ended(self._row, len(self._new))
                if self._pads:
                    return kept
            if not self._pads and self._together.end is not None and len(self._new) >= self._together.end:
                return kept
        return None

    def _stops(self) -> bool:
        scores, rows = self._scores(self._new), self._together.rows
        done = False
        for criterion in self._criteria:  # all of them, though one would do: some count, or write down
            rowless = type(criterion) in _ROWLESS
            answer = torch.as_tensor(criterion(self._ids_T.repeat(1 if rowless else rows, 1), scores))
            if answer.shape not in ((), (1,), (rows,)):
                raise InvalidParameterError(
                    f"the stopping criterion {criterion!r} answered with shape {tuple(answer.shape)};"
                    f" expected ({rows},), one answer a row"
                )
            done |= bool(answer[self._row] if answer.shape == (rows,) else answer)
        return done
