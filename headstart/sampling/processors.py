"""Changes to the base model's logits before temperature, each a function of the ids generated so far."""

from collections.abc import Sequence

import torch


class MinNewTokens:
    """Forbids ``ids`` (end of text and stop ids) until ``min_new_tokens`` ids have been generated, counted per node."""

    def __init__(self, min_new_tokens: int, ids: Sequence[int]) -> None:
        self.min_new_tokens = min_new_tokens
        self.ids = sorted(ids)

    def __call__(self, logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        if len(generated) >= self.min_new_tokens:
            return logits_V
        known = [token for token in self.ids if 0 <= token < logits_V.shape[-1]]  # others cannot be drawn anyway
        ids = torch.tensor(known, dtype=torch.int64, device=logits_V.device)
        return logits_V.index_fill(-1, ids, -torch.inf)
