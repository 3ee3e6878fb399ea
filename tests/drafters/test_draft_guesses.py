"""From logits to guesses, by hand on six tokens."""

import math

import pytest
import torch

from headstart.drafters.draft_guesses import ranked
from headstart.sampling.noise import gumbel
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling

P = torch.tensor([0.05, 0.4, 0.1, 0.25, 0.15, 0.05])


def row(temperature: float = 0.0, **params: float) -> RowSampling:
    return RowSampling(
        params=SamplingParams(temperature=temperature, **params),  # type: ignore[arg-type]
        seed=11,
        prompt_length=4,
        generated=[1, 2],
    )


def noise(depth: int) -> torch.Tensor:
    """Of the token that stands ``depth`` guesses behind the root, which is the sixth of the text."""
    return gumbel(torch.tensor([11]), torch.tensor([6 + depth]), torch.arange(6)[None])[0]


def test_greedy_rows_take_the_likeliest_with_their_probability() -> None:
    ids_MR, log_q_MR = ranked((P.log() + 3)[None], [row()], 0, 3)
    assert ids_MR.tolist() == [[1, 3, 4]]
    assert log_q_MR.exp().tolist() == [pytest.approx([0.4, 0.25, 0.15])]


@pytest.mark.parametrize("depth", [0, 2])
def test_rows_that_sample_take_the_best_under_the_noise_of_their_draw(depth: int) -> None:
    """At temperature 0.5 p is squared and normalised; ranks are those of log p + G, beside a greedy row's."""
    log_p = (P**2 / (P**2).sum()).log().double()
    scores = log_p + noise(depth)
    ids_MR, log_q_MR = ranked(P.log().expand(2, -1), [row(0.5), row()], depth, 4)
    assert ids_MR[0].tolist() == scores.argsort(descending=True)[:4].tolist()
    assert log_q_MR[0].tolist() == pytest.approx(scores.log_softmax(-1).sort(descending=True).values[:4].tolist(), abs=1e-5)
    assert ids_MR[1].tolist() == [1, 3, 4, 2]


def test_filters_of_the_text_hold_for_its_guesses() -> None:
    ids_MR, log_q_MR = ranked(P.log()[None], [row(1.0, top_k=2)], 0, 3)
    assert set(ids_MR[0, :2].tolist()) == {1, 3}
    assert math.exp(float(log_q_MR[0, 2])) == 0.0  # no third one survives
