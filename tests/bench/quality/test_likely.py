"""What the alphabet model thinks of answers: the next letter has a logit of 8, all 63 others 0."""

import math

import pytest

from headstart.bench.quality.answers import Answer
from headstart.bench.quality.likely import Opinion, agreement, opinions, perplexity
from tests.tiny_models import alphabet_model, letter_ids, native

NEXT = math.log(1 + 63 * math.exp(-8))
"""Nats of the next letter; any other one takes 8 more."""


def answer(question: str, text: str, key: str = "") -> Answer:
    return Answer(key or question, (1, *letter_ids(question)), tuple(letter_ids(text)))


def test_opinions() -> None:
    """In "bcxe" after "a", x comes unexpected, and so does e after it."""
    model = native(alphabet_model())
    right, wrong = answer("a", "bcde"), answer("a", "bcxe")
    found = opinions(model, [right, wrong, right, answer("a", "bcde", "another")])
    assert (found[right].tokens, found[right].firsts) == (4, 4)
    assert found[right].nats == pytest.approx(4 * NEXT, rel=1e-3)  # the model's norm divides by a little more than 1
    assert (found[wrong].tokens, found[wrong].firsts) == (4, 2)
    assert found[wrong].nats == pytest.approx(4 * NEXT + 16, rel=1e-3)
    assert found[answer("a", "bcde", "another")] == found[right]
    assert model.cache.rows == 0
    assert opinions(model, []) == {}


A, B = answer("a", "bcde"), answer("k", "lmno")
A_OTHER = answer("a", "bcxe")
OPINION = {A: Opinion(4, 4.0, 4), B: Opinion(4, 2.0, 3), A_OTHER: Opinion(4, 8.0, 2)}


def test_perplexity() -> None:
    """Own answers: 6 nats over 8 tokens; with the other answer 10 over 8."""
    same = perplexity([(A, A), (B, B)], OPINION)
    assert same["perplexity"]["estimate"] == pytest.approx(math.exp(6 / 8))
    assert (same["of_base"]["low"], same["of_base"]["estimate"], same["of_base"]["high"]) == (1.0, 1.0, 1.0)
    assert (same["perplexity"]["low"], same["perplexity"]["high"]) == (pytest.approx(math.exp(0.5)), pytest.approx(math.e))
    other = perplexity([(A_OTHER, A), (B, B)], OPINION)
    assert other["perplexity"]["estimate"] == pytest.approx(math.exp(10 / 8))
    assert other["of_base"]["estimate"] == pytest.approx(math.exp(0.5))
    # the same questions are drawn for both: B twice gives 1, A twice exp(2 - 1)
    assert (other["of_base"]["low"], other["of_base"]["high"]) == (pytest.approx(1.0), pytest.approx(math.e))
    assert (other["of_base"]["n"], other["tokens"]) == (2, 8)


def test_agreement() -> None:
    found = agreement([(A_OTHER, A), (B, B)], OPINION, same_draws=True)
    assert found["first_choice"]["estimate"] == 5 / 8
    assert found["more_than_base"]["estimate"] == 5 / 8 - 7 / 8
    assert (found["identical"]["estimate"], found["identical"]["n"]) == (0.5, 2)
    assert found["common"]["estimate"] == 6 / 8  # "bc" of the first, all of the second
    drawn = agreement([(A_OTHER, A)], OPINION, same_draws=False)
    assert drawn["identical"] is drawn["common"] is None


def test_turns_of_a_question_count_as_one() -> None:
    turns = [(A, A), (Answer("a", B.prompt, B.ids), Answer("a", B.prompt, B.ids))]
    opinion = {**OPINION, turns[1][0]: OPINION[B]}
    assert perplexity(turns, opinion)["perplexity"] == {
        "estimate": pytest.approx(math.exp(6 / 8)),
        "low": pytest.approx(math.exp(6 / 8)),
        "high": pytest.approx(math.exp(6 / 8)),
        "n": 1,
    }


def test_nothing_answered() -> None:
    assert perplexity([], {}) == {"perplexity": None, "of_base": None, "tokens": 0}
    assert agreement([], {}, same_draws=True)["identical"] is None


def test_an_endless_perplexity_is_a_number() -> None:
    found = perplexity([(A, B)], {A: Opinion(1, 1e6, 0), B: Opinion(1, 0.0, 1)})
    assert found["of_base"]["estimate"] == math.exp(700)
