"""Processors of the logits."""

import math

import torch

from headstart.sampling.processors import MinNewTokens


def test_ids_that_stop_are_forbidden_until_enough_are_generated() -> None:
    logits = torch.tensor([1.0, 2.0, 3.0, 4.0])
    forbid = MinNewTokens(2, [3, 1])
    assert forbid(logits, []).tolist() == [1.0, -math.inf, 3.0, -math.inf]
    assert forbid(logits, [7]).tolist() == [1.0, -math.inf, 3.0, -math.inf]
    assert forbid(logits, [7, 7]).tolist() == [1.0, 2.0, 3.0, 4.0]  # the third id may stop
    assert logits.tolist() == [1.0, 2.0, 3.0, 4.0]  # never in place: other nodes read the same table


def test_ids_outside_the_vocabulary_are_no_concern() -> None:
    """A tokenizer may know an end that the model cannot write; -1 is not the last id."""
    assert MinNewTokens(1, [-1, 2, 99])(torch.zeros(4), []).tolist() == [0.0, 0.0, -math.inf, 0.0]
