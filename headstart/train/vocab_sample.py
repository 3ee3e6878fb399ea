"""A part of the draft vocabulary for each step, so that a step costs a third: all frequent tokens, this batch's own labels and
a few of the rare ones, which stand for the rest.

A rare token that was drawn counts as often in the softmax as there are tokens that it stands for (importance sampling of the
partition function: Bengio and Senecal 2003; Jean et al. 2015), so that the expected partition function is the true one.

Shapes: V draft vocabulary, S sampled part, K heads, B examples.
"""

from dataclasses import dataclass

import torch

FREQUENT = 3072
_DRAWN = 1024
_MULTIPLE = 256


@dataclass(frozen=True)
class VocabPart:
    """What a step's softmax runs over."""

    index_S: torch.Tensor | None
    """Places among the draft ids, ascending; None is all of them."""
    log_weight_S: torch.Tensor | None
    """Added to the logits: log of how many tokens each one stands for."""
    labels_KB: torch.Tensor
    """Places within the part; -1 stays -1."""


class VocabSampler:
    """``by_frequency_V`` lists places among the draft ids, the most frequent first."""

    def __init__(
        self,
        by_frequency_V: torch.Tensor,
        seed: int,
        *,
        frequent: int = FREQUENT,
        drawn: int = _DRAWN,
        multiple: int = _MULTIPLE,
    ) -> None:
        """A few more than ``drawn`` are drawn, so that a part has a multiple of ``multiple`` tokens if it can: a CPU's products
        are prepared anew for each new shape, which takes as long as the products themselves."""
        self._size, self._multiple = len(by_frequency_V), multiple
        self._exact = self._size <= 2 * (frequent + drawn)
        self._is_frequent_V = torch.zeros(self._size, dtype=torch.bool)
        self._is_frequent_V[by_frequency_V[:frequent]] = True
        self._drawn, self._seed = drawn, seed

    def part(self, step: int, labels_KB: torch.Tensor) -> VocabPart:
        """The part for a step; it depends on the seed, the step and the labels alone."""
        if self._exact:
            return VocabPart(None, None, labels_KB)
        chosen_V = self._is_frequent_V.clone()
        chosen_V[labels_KB[labels_KB >= 0]] = True
        rest = (~chosen_V).nonzero().squeeze(-1)
        certain = self._size - len(rest)
        wanted = -(-(certain + self._drawn) // self._multiple) * self._multiple - certain
        generator = torch.Generator().manual_seed((self._seed * 7_368_787 + step) & 0x7FFFFFFFFFFFFFFF)
        drawn = rest[torch.randperm(len(rest), generator=generator)[:wanted]]
        weight_V = torch.zeros(self._size)
        weight_V[chosen_V] = 1.0
        weight_V[drawn] = len(rest) / max(1, len(drawn))
        index_S = weight_V.nonzero().squeeze(-1)
        place_V = torch.full((self._size + 1,), -1, dtype=torch.int64)  # its last entry serves label -1
        place_V[index_S] = torch.arange(len(index_S))
        return VocabPart(index_S, weight_V[index_S].log(), place_V[labels_KB])
