"""Changes to the base model's logits before temperature, each a function of the ids generated so far.

Shapes: T ids, V vocabulary.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

import torch

from headstart.errors import InvalidParameterError
from headstart.sampling.params import LogitsProcessor

Processor = Callable[[torch.Tensor, Sequence[int]], torch.Tensor]
"""Takes ``logits_V`` and the ids generated before the token to choose; returns logits_V. It must not write in place."""


class MinNewTokens:
    """Forbids ``ids`` (end of text and stop ids) until ``min_new_tokens`` ids have been generated, counted per node."""

    def __init__(self, min_new_tokens: int, ids: Sequence[int]) -> None:
        self.min_new_tokens = min_new_tokens
        self.ids = sorted(ids)

    def __call__(self, logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        if len(generated) >= self.min_new_tokens:
            return logits_V
        known = [token for token in self.ids if 0 <= token < logits_V.shape[-1]]  # others cannot be drawn anyway
        return logits_V.index_fill(-1, _index(known, logits_V), -torch.inf)


class LogitBias:
    """Adds a number to the logits of single ids."""

    def __init__(self, bias: Mapping[int, float]) -> None:
        self._ids, self._values = list(bias.keys()), list(bias.values())

    def __call__(self, logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        values = torch.tensor(self._values, dtype=logits_V.dtype, device=logits_V.device)
        return logits_V.index_add(-1, _index(self._ids, logits_V), values)


class BadWords:
    """Forbids the last id of each sequence where the ids before the token are its others. They may begin in the prompt."""

    def __init__(self, words: Sequence[Sequence[int]], prompt_ids: Sequence[int]) -> None:
        self._always = sorted({word[0] for word in words if len(word) == 1})
        self._longer = sorted({(tuple(word[:-1]), word[-1]) for word in words if len(word) > 1})
        self._reach = max((len(start) for start, _ in self._longer), default=0)
        self._prompt_end = tuple(prompt_ids[-self._reach :]) if self._reach else ()

    def __call__(self, logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        before = (*self._prompt_end, *generated[-self._reach :]) if self._reach else ()
        # a sequence longer than all that came before is longer than the slice, so that it equals nothing
        completed = [last for start, last in self._longer if before[-len(start) :] == start]
        return logits_V.index_fill(-1, _index([*self._always, *completed], logits_V), -torch.inf)


class AllowedTokens:
    """Forbids every id but those given."""

    def __init__(self, ids: Sequence[int]) -> None:
        self._ids = list(ids)

    def __call__(self, logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        ids = _index(self._ids, logits_V)
        return torch.full_like(logits_V, -torch.inf).index_copy(-1, ids, logits_V[ids])


class UserProcessor:
    """A processor of transformers. It gets copies, so that it may write in place.

    It is not asked what comes after one of ``stop_ids``, which ends the text from ``min_new_tokens`` ids on: guesses reach beyond
    the end, but a grammar that has come to its end allows nothing more, or raises.
    """

    def __init__(
        self, processor: LogitsProcessor, prompt_ids: Sequence[int], *, min_new_tokens: int = 0, stop_ids: Collection[int] = ()
    ) -> None:
        self._processor = processor
        self._prompt = list(prompt_ids)
        self._min_new_tokens = min_new_tokens
        self._stop_ids = frozenset(stop_ids)

    def __call__(self, logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        if not self._stop_ids.isdisjoint(generated[self._min_new_tokens :]):
            return logits_V
        ids_1T = _index([*self._prompt, *generated], logits_V)[None]
        scores_1V: torch.Tensor = self._processor(ids_1T, logits_V[None].clone())
        if scores_1V.shape != (1, logits_V.shape[-1]):
            raise InvalidParameterError(
                f"the logits processor {self._processor!r} returned scores of shape {tuple(scores_1V.shape)};"
                f" expected (1, {logits_V.shape[-1]}), the shape that it was given"
            )
        return scores_1V[0].to(logits_V)


def _index(ids: Sequence[int], like: torch.Tensor) -> torch.Tensor:
    return torch.tensor(ids, dtype=torch.int64, device=like.device)
