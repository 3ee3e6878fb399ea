"""Penalties, by hand and against transformers."""

import pytest
import torch
from transformers import RepetitionPenaltyLogitsProcessor

from headstart.sampling.penalties import OutputPenalties, RepetitionPenalty

TABLE = torch.tensor([3.0, -3.0, 1.0, 0.0, 6.0])


def test_repetition_counts_prompt_and_output_once() -> None:
    """Ids 0 and 1 are in the prompt, 4 comes twice: 3 / 1.5, -3 * 1.5 and 6 / 1.5."""
    assert RepetitionPenalty(1.5, [0, 1])(TABLE, [4, 4]).tolist() == [2.0, -4.5, 1.0, 0.0, 4.0]
    assert TABLE.tolist() == [3.0, -3.0, 1.0, 0.0, 6.0]


def test_repetition_below_one_rewards() -> None:
    assert RepetitionPenalty(0.5, [])(TABLE, [0, 1]).tolist() == [6.0, -1.5, 1.0, 0.0, 6.0]


def test_presence_and_frequency_count_the_output_alone() -> None:
    """Id 4 came three times: 6 - 0.5 - 3 * 0.25. Id 1 came once: -3 - 0.5 - 0.25."""
    assert OutputPenalties(0.5, 0.25)(TABLE, [4, 1, 4, 4]).tolist() == [3.0, -3.75, 1.0, 0.0, 4.75]
    assert OutputPenalties(0.5, 0.25)(TABLE, []).tolist() == TABLE.tolist()
    assert OutputPenalties(0.0, -1.0)(TABLE, [3, 3]).tolist() == [3.0, -3.0, 1.0, 2.0, 6.0]
    assert TABLE.tolist() == [3.0, -3.0, 1.0, 0.0, 6.0]


@pytest.mark.parametrize("penalty", [0.7, 1.1, 2.0])
def test_repetition_is_that_of_transformers(penalty: float) -> None:
    generator = torch.Generator().manual_seed(1)
    theirs = RepetitionPenaltyLogitsProcessor(penalty)
    for length in (1, 4, 30):
        ids = torch.randint(0, 20, (length,), generator=generator)
        logits = torch.randn(20, generator=generator) * 4
        ours = RepetitionPenalty(penalty, ids[: length // 2].tolist())(logits, ids[length // 2 :].tolist())
        assert torch.equal(ours, theirs(ids[None], logits[None].clone())[0])
