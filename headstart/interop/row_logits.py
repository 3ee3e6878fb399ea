"""Logits processors of transformers on one row's logits, at any node of a tree.

Shapes: B rows of the whole batch, T positions, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)
from transformers.generation.logits_process import LogitNormalization

_CHOICE: tuple[tuple[type[Any], str, str], ...] = (
    (TemperatureLogitsWarper, "temperature", "temperature"),
    (TopKLogitsWarper, "top_k", "top_k"),
    (TopPLogitsWarper, "top_p", "top_p"),
    (MinPLogitsWarper, "min_p", "min_p"),
    (TypicalLogitsWarper, "mass", "typical_p"),
)
"""Processors that choose among tokens, in the order of our own parameters: theirs and ours by name."""


_ROWLESS = frozenset(
    f"{name}LogitsProcessor"
    for name in (
        "ForcedBOSToken", "ForcedEOSToken", "InfNanRemove", "MinLength", "MinNewTokensLength", "NoBadWords", "NoRepeatNGram",
        "SequenceBias", "SuppressTokens", "SuppressTokensAtBegin",
    )
) | frozenset(
    f"{name}LogitsWarper" for name in ("Epsilon", "Eta", "MinP", "Temperature", "TopH", "TopK", "TopP", "Typical")
) | {"ExponentialDecayLengthPenalty", "LogitNormalization"}  # fmt: skip
"""Processors of transformers that keep nothing per row, by name, since older versions lack some."""


def _rowless(processor: Any) -> bool:
    kind = type(processor)
    if kind is RepetitionPenaltyLogitsProcessor:
        return not isinstance(getattr(processor, "prompt_ignore_length", None), torch.Tensor)
    return kind.__module__.startswith("transformers.") and kind.__name__ in _ROWLESS


def split(processors: LogitsProcessorList) -> tuple[LogitsProcessorList, dict[str, Any]]:
    """What has to run as it is, and the sampling parameters that the rest amounts to.

    The rest is the longest end of the list that our own parameters can stand for; drafters know those, and guess better.
    """
    items = list(processors)
    while items and type(items[-1]) is LogitNormalization:  # it changes no choice
        items.pop()
    params: dict[str, Any] = {}
    place = len(_CHOICE)
    while items and (found := _own(items[-1])) is not None and found[0] < place:
        place, name, value = found
        params[name] = value
        items.pop()
    return LogitsProcessorList(items), params


def _own(processor: Any) -> tuple[int, str, Any] | None:
    for place, (kind, theirs, ours) in enumerate(_CHOICE):
        if type(processor) is kind:
            value = getattr(processor, theirs)
            drops = getattr(processor, "filter_value", -torch.inf) == -torch.inf
            keeps_one = getattr(processor, "min_tokens_to_keep", 1) == 1
            in_range = {"top_p": value > 0, "min_p": value < 1}.get(ours, True)
            return (place, ours, value) if drops and keeps_one and in_range else None
    return None


class Recorder:
    """Logits and scores at the places that were looked at, kept for those whose tokens were emitted."""

    def __init__(self, *, logits: bool, scores: bool) -> None:
        self.wants_logits, self.wants_scores = logits, scores
        self.logits: list[torch.Tensor] = []
        self.scores: list[torch.Tensor] = []
        self._seen: dict[tuple[int, ...], tuple[torch.Tensor, torch.Tensor | None]] = {}

    def see(self, new_ids: Sequence[int], logits_V: torch.Tensor, scores_V: torch.Tensor | None) -> None:
        """What stands at the place after ``new_ids``."""
        self._seen[tuple(new_ids)] = (logits_V, scores_V)

    def scores_for(self, new_ids: Sequence[int]) -> list[torch.Tensor]:
        """The scores from which each of ``new_ids`` was chosen, those not yet emitted included."""
        known = len(self.scores)
        later = [self._seen[tuple(new_ids[:place])][1] for place in range(known, len(new_ids))]
        return [*self.scores[: len(new_ids)], *(scores_V for scores_V in later if scores_V is not None)]

    def emit(self, new_ids: Sequence[int], emitted: int) -> None:
        """The last ``emitted`` of ``new_ids`` belong to the text; what was seen elsewhere is forgotten."""
        for place in range(len(new_ids) - emitted, len(new_ids)):
            logits_V, scores_V = self._seen[tuple(new_ids[:place])]
            self.logits += [logits_V] if self.wants_logits else []
            self.scores += [] if scores_V is None else [scores_V]
        self._seen.clear()


class RowLogits:
    """A logits processor of ours for one row, around transformers' own for the batch.

    These are shown the ids as ``generate`` would show them, padding included, since some of them count positions. Every row of
    the batch is shown as this one: a processor that keeps something per row finds it at the row's own place. (Those of
    transformers that keep nothing are shown the one row.)

    Args:
        needed: the processors whose result the choice starts from.
        whole: all of them, whose result ``output_scores`` reports.
        padding_P: what stands before the row's prompt.
    """

    def __init__(
        self,
        needed: LogitsProcessorList,
        whole: LogitsProcessorList,
        padding_P: torch.Tensor,
        *,
        prompt_length: int,
        row: int,
        rows: int,
        recorder: Recorder | None,
    ) -> None:
        self._needed, self._whole = needed, whole
        self._padding_P = padding_P
        self._prompt_length = prompt_length
        self._row, self._rows = row, rows
        self._recorder = recorder

    def __call__(self, ids_1T: torch.Tensor, logits_1V: torch.Tensor) -> torch.Tensor:
        ids_T = torch.cat([self._padding_P, ids_1T[0].to(self._padding_P.device)])
        if self._recorder is not None:
            scores_V = self._run(self._whole, ids_T, logits_1V)[0] if self._recorder.wants_scores else None
            self._recorder.see(ids_1T[0, self._prompt_length :].tolist(), logits_1V[0].clone(), scores_V)
        return self._run(self._needed, ids_T, logits_1V)

    def _run(self, processors: LogitsProcessorList, ids_T: torch.Tensor, logits_1V: torch.Tensor) -> torch.Tensor:
        scores_1V = logits_1V.to(ids_T.device, copy=True)
        for processor in processors:
            untyped: Any = processor  # their annotations ask for legacy tensor types
            rows, row = (1, 0) if _rowless(processor) else (self._rows, self._row)
            scores_1V = untyped(ids_T.repeat(rows, 1), scores_1V.repeat(rows, 1))[row : row + 1]
        return scores_1V.to(logits_1V.device)
