"""Log-probabilities of emitted tokens."""

import math

import pytest
import torch

from headstart.completion import TokenLogprob
from headstart.sampling.logprobs import token_logprobs

HALF, QUARTER = math.log(0.5), math.log(0.25)


def test_each_token_under_its_own_place() -> None:
    logits = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]).log() + 7  # a constant changes nothing
    first, second = token_logprobs(logits, [0, 2], 0)
    assert (first.token_id, second.token_id) == (0, 2)
    assert (first.logprob, second.logprob) == pytest.approx((HALF, QUARTER))
    assert first.top == second.top == ()


def test_the_most_likely_ones_whatever_was_emitted() -> None:
    (one,) = token_logprobs(torch.tensor([[0.25, 0.25, 0.5]]).log(), [1], 2)
    assert [token for token, _ in one.top] == [2, 0]  # of the equal ones the lower id, although 1 was emitted
    assert [log_p for _, log_p in one.top] == pytest.approx([HALF, QUARTER])
    assert one.logprob == pytest.approx(QUARTER)


def test_more_than_there_are_is_all() -> None:
    (one,) = token_logprobs(torch.zeros(1, 3), [1], 20)
    assert [token for token, _ in one.top] == [0, 1, 2]


def test_nothing_of_nothing() -> None:
    assert token_logprobs(torch.zeros(0, 3), [], 2) == ()


def test_low_precision_is_summed_in_float32() -> None:
    """4,096 equal logits: in bfloat16 the sum of their exponentials would not reach 4,096."""
    assert token_logprobs(torch.zeros(1, 4096, dtype=torch.bfloat16), [5], 0) == (TokenLogprob(5, pytest.approx(-math.log(4096))),)
