"""Which tokens the heads choose from: the frequent ones. Source: FR-Spec (Zhao et al. 2025) shows the idea for EAGLE.

Shapes: V chosen tokens.
"""

from collections.abc import Iterable

import torch


def frequent_ids(answers: Iterable[torch.Tensor], prompts: Iterable[torch.Tensor], vocab_size: int, size: int) -> torch.Tensor:
    """The ``size`` ids most frequent in ``answers``, then in ``prompts``, then the lowest; int64, V, most frequent first.

    The lowest ids come last because merges of a vocabulary are learned in the order of frequency. Ties go to the lower id.
    """
    in_answers, in_prompts = _counts(answers, vocab_size), _counts(prompts, vocab_size)
    # stable sorts from the last key to the first: id, frequency in prompts, frequency in answers
    order = torch.arange(vocab_size)
    for counts in (in_prompts, in_answers):
        order = order[torch.sort(counts[order], descending=True, stable=True).indices]
    return order[:size]


def lookup_table(draft_ids_V: torch.Tensor | None, vocab_size: int) -> torch.Tensor:
    """From an id to its place among the draft ids, -1 for those outside; the last entry stands for id -1 and is -1."""
    table = torch.full((vocab_size + 1,), -1, dtype=torch.int64)
    ids = torch.arange(vocab_size) if draft_ids_V is None else draft_ids_V
    table[ids] = torch.arange(len(ids))
    return table


def _counts(texts: Iterable[torch.Tensor], vocab_size: int) -> torch.Tensor:
    counts = torch.zeros(vocab_size, dtype=torch.int64)
    for tokens in texts:
        counts += torch.bincount(tokens.to(torch.int64), minlength=vocab_size)
    return counts
