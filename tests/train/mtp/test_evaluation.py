"""What heads are found to know."""

import math
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from torch import nn

from headstart.train.mtp.evaluation import guesses_on, on_true_text
from headstart.train.mtp.headed_model import HeadedModel
from headstart.train.mtp.objective import Trunk
from headstart.train.simulation import BEYOND, WIDTH, joint_counts

VOCAB = 30


class Ahead(nn.Module):
    """Says with certainty that the token after so many positions is the present one plus ``step``."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def forward(self, leaf_BTV: torch.Tensor) -> torch.Tensor:
        return leaf_BTV.roll(self.step, -1)


def counting(*steps: int) -> HeadedModel:
    """A model of texts that count: its states are the tokens' unit vectors, sharpened; head n adds ``steps[n]``."""

    def trunk(ids_BT: torch.Tensor) -> Trunk:
        leaf = torch.nn.functional.one_hot(ids_BT, VOCAB).double() * 20.0
        return Trunk(leaf, leaf, Ahead(steps[0])(leaf))

    headed: Any = SimpleNamespace(
        model=SimpleNamespace(device=torch.device("cpu")),
        layers=nn.ModuleList(Ahead(step) for step in steps[1:]),
        vocab_size=VOCAB,
        trunk=trunk,
        unembed=lambda states: states,
    )
    return cast(HeadedModel, headed)


def test_losses_and_first_guesses_on_true_text() -> None:
    """Head 2 is wrong everywhere: it says what head 1 says."""
    known = on_true_text(counting(1, 1, 3), [torch.arange(12)[None], torch.arange(5, 17)[None]])
    right, wrong = math.log(1 + 29 * math.exp(-20)), 20 + math.log(1 + 29 * math.exp(-20))
    assert known.nats_N == pytest.approx([right, wrong, right], abs=1e-5)
    assert (known.top_N, known.positions) == ([1.0, 0.0, 1.0], 2 * 9)


def test_ranks_on_a_text() -> None:
    """Positions of what was written, its last id left out; the root is known, so that head 2 is asked for the token after it."""
    seen, spans = guesses_on(counting(1, 2, 3), [([1, 2, 3], [4, 5, 6, 7]), ([9], [10]), ([20, 21], [22, 23, 25])])
    assert [(span.conversation, span.first, span.count) for span in spans] == [(0, 0, 3), (2, 3, 2)]
    # at 3 the root is 4, and 5 and 6 are guessed rightly; at the end nothing is left to guess; 25 breaks the count, and all that is
    # no first guess lies as far off as everything else
    ranks = seen.rank_EK.tolist()
    assert ranks[:3] == [[0, 0], [0, 0], [0, BEYOND]]
    assert ranks[3][0] == 0
    assert 0 < ranks[3][1] <= WIDTH
    assert 0 < ranks[4][0] <= WIDTH
    assert ranks[4][1] == BEYOND
    assert seen.log_q_EKR.shape == (5, 2, WIDTH)
    assert seen.log_q_EKR[0, :, 0].tolist() == pytest.approx([0.0, 0.0], abs=1e-5)
    counts, total = joint_counts(seen.rank_EK, spans[:1])
    assert (counts[(0,)], counts[(0, 0)], total) == (3, 2, 3)
