"""Processors of the logits."""

import math

import pytest
import torch
from transformers import NoBadWordsLogitsProcessor

from headstart.errors import InvalidParameterError
from headstart.sampling.processors import AllowedTokens, BadWords, LogitBias, MinNewTokens, UserProcessor


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


TABLE = torch.arange(6.0)


def forbidden(logits_V: torch.Tensor) -> list[int]:
    return torch.nonzero(logits_V == -math.inf)[:, 0].tolist()


def test_bias_is_added() -> None:
    assert LogitBias({1: 2.5, 4: -4.0})(TABLE, []).tolist() == [0.0, 3.5, 2.0, 3.0, 0.0, 5.0]
    assert TABLE.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_bad_word_is_forbidden_at_its_last_id() -> None:
    bad = BadWords([[5], [1, 2], [1, 1, 3]], prompt_ids=[4])
    assert forbidden(bad(TABLE, [])) == [5]
    assert forbidden(bad(TABLE, [1])) == [2, 5]
    assert forbidden(bad(TABLE, [2, 1, 1])) == [2, 3, 5]
    assert forbidden(bad(TABLE, [1, 2])) == [5]  # it went another way
    assert TABLE.isfinite().all()


def test_a_bad_word_may_begin_in_the_prompt() -> None:
    assert forbidden(BadWords([[4, 1, 2]], prompt_ids=[0, 4])(TABLE, [1])) == [2]
    assert forbidden(BadWords([[4, 1, 2]], prompt_ids=[0, 4, 1])(TABLE, [])) == [2]
    assert forbidden(BadWords([[4, 1, 2]], prompt_ids=[1])(TABLE, [])) == []  # the text is shorter than the word


def test_no_other_than_the_allowed_ids() -> None:
    assert AllowedTokens([1, 3])(TABLE, [2]).tolist() == [-math.inf, 1.0, -math.inf, 3.0, -math.inf, -math.inf]


def test_a_processor_of_transformers_sees_prompt_and_output_and_may_write_in_place() -> None:
    seen: list[list[list[int]]] = []

    def in_place(ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        seen.append(ids.tolist())
        scores[0, 5] = -1.0
        return scores

    assert UserProcessor(in_place, [7, 8])(TABLE, [1, 2]).tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, -1.0]
    assert seen == [[[7, 8, 1, 2]]]
    assert TABLE.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_processor_is_not_asked_beyond_the_end() -> None:
    """The first id is too early to end the text, so that 9 ends it as the second, and whatever follows."""
    all_alike = UserProcessor(lambda ids, scores: scores * 0, [7, 9], min_new_tokens=1, stop_ids=[9])
    for asked in ([], [9], [9, 1]):  # the 9 of the prompt is no end either
        assert all_alike(TABLE, asked).tolist() == [0.0] * 6
    for beyond in ([1, 9], [9, 9], [1, 9, 2]):
        assert all_alike(TABLE, beyond).tolist() == TABLE.tolist()


def test_a_processor_that_returns_another_shape_is_refused() -> None:
    with pytest.raises(InvalidParameterError, match=r"returned scores of shape \(1, 3\);\s*expected \(1, 6\)"):
        UserProcessor(lambda ids, scores: scores[:, :3], [1])(TABLE, [])


def test_bad_words_are_those_of_transformers() -> None:
    """Random ids of a small vocabulary, so that beginnings of words are met all the time."""
    generator = torch.Generator().manual_seed(0)
    words = [[3], [1, 2], [2, 2, 0], [0, 4, 4], [4, 1]]
    theirs = NoBadWordsLogitsProcessor([list(word) for word in words], eos_token_id=None)
    met = 0
    for _ in range(200):
        ids = torch.randint(0, 5, (7,), generator=generator).tolist()
        expected = theirs(torch.tensor([ids]), TABLE[None].clone())[0]
        for cut in (1, 3, 6):
            assert torch.equal(BadWords(words, ids[:cut])(TABLE, ids[cut:]), expected)
        met += len(forbidden(expected)) > 1
    assert met > 50
