"""Penalties for what has been said: processors that look at the ids before the token.

Shapes: V vocabulary.
"""

from collections import Counter
from collections.abc import Sequence

import torch


class RepetitionPenalty:
    """Divides positive logits of ids that were in the prompt or came since by ``penalty``, multiplies negative ones.

    Keskar et al. 2019 (CTRL), section 4.1, in the form that transformers and vLLM give it.
    """

    def __init__(self, penalty: float, prompt_ids: Sequence[int]) -> None:
        self.penalty = penalty
        self._prompt = frozenset(prompt_ids)

    def __call__(self, logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        ids = torch.tensor(sorted(self._prompt.union(generated)), dtype=torch.int64, device=logits_V.device)
        seen = logits_V[ids]
        return logits_V.index_copy(-1, ids, torch.where(seen < 0, seen * self.penalty, seen / self.penalty))


class OutputPenalties:
    """Subtracts from the logits of ids generated so far: ``presence`` once, ``frequency`` for each time. The prompt is free.

    The definitions are OpenAI's.
    """

    def __init__(self, presence: float, frequency: float) -> None:
        self.presence, self.frequency = presence, frequency

    def __call__(self, logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        if not generated:
            return logits_V
        counts = sorted(Counter(generated).items())
        ids, times = torch.tensor(counts, dtype=torch.int64, device=logits_V.device).T
        return logits_V.index_add(-1, ids, -(self.presence + self.frequency * times.to(logits_V.dtype)))
