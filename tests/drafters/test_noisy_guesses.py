"""Guesses at places of several rows, each with the noise of its own seed and position."""

from dataclasses import replace

import pytest
import torch

from headstart.drafters.noisy_guesses import LOOKED_AT, drawn, ranked_with_noise
from headstart.sampling.noise import gumbel
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.candidate import PAD


def row(temperature: float, seed: int, written: int) -> RowSampling:
    return RowSampling(params=SamplingParams(temperature=temperature), seed=seed, prompt_length=4, generated=[7] * written)


def test_ranks_are_those_of_log_q_and_noise_over_all_tokens() -> None:
    """Ids are even; place 2 is greedy and has no noise; places 0 and 3 are of one row, at two positions."""
    torch.manual_seed(0)
    logits_RV, ids_V = torch.randn(4, 30), torch.arange(0, 60, 2)
    sampled = row(0.7, 11, 2)
    rows, ahead = [sampled, row(1.3, 12, 1), row(0.0, 13, 5), sampled], [0, 2, 1, 3]
    guesses_RG, log_q_RG = ranked_with_noise(logits_RV, rows, ahead, 5, ids_V)
    for r, (state, k) in enumerate(zip(rows, ahead, strict=True)):
        scores_V = logits_RV[r].double()
        if state.params.temperature:
            position = torch.tensor([4 + len(state.generated) + k])
            scores_V = scores_V / state.params.temperature + gumbel(torch.tensor([state.seed]), position, ids_V[None])[0]
        best = torch.log_softmax(scores_V, -1).topk(5)
        assert guesses_RG[r].tolist() == ids_V[best.indices].tolist()
        if not state.params.temperature:
            assert torch.allclose(log_q_RG[r].double(), best.values, atol=1e-6)
    # log q - log q is score - score: the noise counts once, whatever it is normalised by
    assert bool((log_q_RG[:, :-1] >= log_q_RG[:, 1:]).all())


def test_of_a_large_vocabulary_only_the_likeliest_are_looked_at() -> None:
    """Noise of several thousand equal tokens would find one far down the list."""
    logits_RV = torch.zeros(1, 5000)
    logits_RV[0, :LOOKED_AT] = 1.0
    guesses_RG, _ = ranked_with_noise(logits_RV, [row(1.0, 5, 1)], [0], 20, None)
    assert int(guesses_RG.max()) < LOOKED_AT


def test_drawn_from_q_at_the_drafts_temperature() -> None:
    """At temperature 0.5 q is p squared and normalised, whatever the text's temperature; six draws without replacement are all."""
    p_V = torch.tensor([0.05, 0.4, 0.1, 0.25, 0.15, 0.05])
    state = replace(row(1.0, 11, 2), draft_temperature=0.5)
    guesses_RG, _, q_RV = drawn(p_V.log()[None], [state], [1], 6, None, 7)
    assert sorted(guesses_RG[0].tolist()) == list(range(6))
    assert q_RV[0].tolist() == pytest.approx([*(p_V**2 / (p_V**2).sum()).tolist(), 0.0])
    assert drawn(p_V.log()[None], [state], [1], 3, None, 7)[0][0].tolist() == guesses_RG[0, :3].tolist()


def test_what_cannot_be_drawn_any_more_is_padding() -> None:
    """Three tokens give three draws without replacement; q holds their probabilities at the draft temperature, by id."""
    state = replace(row(1.0, 5, 1), draft_temperature=2.0)
    guesses_RG, log_q_RG, q_RV = drawn(torch.tensor([[0.0, 4.0, 2.0]]), [state], [0], 5, torch.tensor([3, 5, 8]), 10)
    assert sorted(guesses_RG[0, :3].tolist()) == [3, 5, 8]
    assert guesses_RG[0, 3:].tolist() == [PAD, PAD]
    probabilities = torch.softmax(torch.tensor([0.0, 2.0, 1.0]), -1)
    assert torch.allclose(q_RV[0, [3, 5, 8]], probabilities)
    assert float(q_RV.sum()) == float(q_RV[0, [3, 5, 8]].sum())
    assert torch.allclose(log_q_RG[0].exp(), probabilities[[1, 2, 0]])
