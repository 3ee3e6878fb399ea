"""Sampling parameters, log-probs and rules of acceptance through ``LLM``. The model goes on with the next letter: its logit is 8,
all others are 0."""

import math
from typing import Any

import pytest

from headstart.completion import Completion
from headstart.errors import InvalidParameterError
from headstart.llm import LLM
from tests.tiny_llm import busy, tiny_llm
from tests.tiny_models import LETTERS, VOCAB, letter_ids

D, E, X = letter_ids("dex")
DRAFTERS = ["none", "medusa"]


@pytest.fixture
def llm() -> LLM:
    return tiny_llm()


def write(llm: LLM, prompt: str, **options: Any) -> Completion:
    return llm.generate(prompt, **{"max_new_tokens": 6, **options})


@pytest.mark.parametrize("drafter", DRAFTERS)
class TestParameters:
    def test_bias(self, llm: LLM, drafter: str) -> None:
        """x has 9 everywhere, above the next letter's 8, after itself as well; with 7 it never comes."""
        assert write(llm, "a", logit_bias={X: 9.0}, drafter=drafter).text == "xxxxxx"
        assert write(llm, "a", logit_bias={str(X): 7.0}, drafter=drafter).text == "bcdefg"

    def test_penalties(self, llm: LLM, drafter: str) -> None:
        """With x at 9: the prompt's x divided by 3 is 3; once written it loses 1.5 a time, 7.5 after the first, below 8."""
        assert write(llm, "x", logit_bias={X: 9.0}, repetition_penalty=3.0, drafter=drafter).text == "yzABCD"
        assert write(llm, "a", logit_bias={X: 9.0}, frequency_penalty=1.5, drafter=drafter).text == "xyzABC"
        assert write(llm, "a", logit_bias={X: 9.0}, presence_penalty=1.5, drafter=drafter).text == "xyzABC"

    def test_bad_words(self, llm: LLM, drafter: str) -> None:
        """After "d" the letter e is forbidden; what is left has logit 0 and the lowest id, <pad>, after which comes "a"."""
        assert write(llm, "a", bad_words="de", drafter=drafter).token_ids == (*letter_ids("bcd"), 0, *letter_ids("ab"))
        assert write(llm, "abcd", bad_words=[[D, E]], drafter=drafter).token_ids[0] == 0

    def test_allowed(self, llm: LLM, drafter: str) -> None:
        """Where the next letter is not allowed the lowest id is taken, "a": after "e" and after "b"."""
        assert write(llm, "c", allowed_token_ids=letter_ids("abde"), drafter=drafter).text == "deabab"

    def test_processors(self, llm: LLM, drafter: str) -> None:
        def no_e(ids_1T: Any, scores_1V: Any) -> Any:
            scores_1V[:, E] = -math.inf
            return scores_1V

        assert write(llm, "a", logits_processors=[no_e], drafter=drafter).token_ids[:4] == (*letter_ids("bcd"), 0)

    def test_logprobs(self, llm: LLM, drafter: str) -> None:
        """Each next letter has e^8 / (e^8 + 63), a biased x 1 / (e^8 + 63): the model's own, without the bias."""
        total = math.exp(8) + VOCAB - 1
        out = write(llm, "a", stop="ef", logprobs=True, top_logprobs=1, drafter=drafter)
        assert (out.text, out.finish_reason) == ("bcd", "stop")
        assert out.logprobs is not None
        assert [one.token_id for one in out.logprobs] == list(out.token_ids) == letter_ids("bcdef")
        assert [one.logprob for one in out.logprobs] == pytest.approx([8 - math.log(total)] * 5, abs=1e-3)  # the norm's epsilon
        assert [[token for token, _ in one.top] for one in out.logprobs] == [[token] for token in out.token_ids]
        biased = write(llm, "a", logit_bias={X: 9.0}, top_logprobs=1, drafter=drafter)
        assert biased.logprobs is not None
        assert [one.logprob for one in biased.logprobs] == pytest.approx([-math.log(total)] * 6, abs=1e-3)

    def test_logprobs_of_a_stream_are_those_of_the_whole(self, llm: LLM, drafter: str) -> None:
        chunks = list(llm.stream("a", max_new_tokens=7, top_logprobs=2, drafter=drafter))
        for chunk in chunks:
            assert chunk.logprobs is not None
            assert [one.token_id for one in chunk.logprobs] == list(chunk.token_ids)
        assert chunks[-1].completion is not None
        assert chunks[-1].completion.logprobs == tuple(one for chunk in chunks for one in chunk.logprobs or ())


def test_no_logprobs_unless_asked_for(llm: LLM) -> None:
    assert write(llm, "a").logprobs is None
    assert {chunk.logprobs for chunk in llm.stream("a", max_new_tokens=3)} == {None}


class TestAcceptance:
    def test_the_rule_is_recorded(self, llm: LLM) -> None:
        exact, typical = write(llm, "a"), write(llm, "a", acceptance="typical")
        assert (exact.stats.acceptance, exact.stats.lossy) == ("exact", False)
        assert (typical.stats.acceptance, typical.stats.lossy) == ("typical", True)

        drawn = write(llm, "a", acceptance="rejection", drafter="medusa")
        assert (drawn.stats.acceptance, drawn.stats.lossy) == ("rejection", False)

    @pytest.mark.parametrize("acceptance", ["typical", "threshold", "rejection"])
    def test_at_temperature_0_nothing_is_lost(self, llm: LLM, acceptance: str) -> None:
        out = write(llm, "a", acceptance=acceptance, drafter="medusa")
        assert (out.text, out.stats.steps) == ("bcdefg", 2)  # five after the first, at most four a step

    @pytest.mark.parametrize("heads", [True, False])
    def test_n_grams_keep_their_number_of_nodes(self, heads: bool) -> None:
        """Twelve, whatever heads recommend: after the alphabet and "abcdef" eleven guesses, and the letter after them."""
        llm = tiny_llm(heads=heads)
        out = llm.generate(LETTERS[:26] + "abcdef", max_new_tokens=13, drafter="ngram", acceptance="typical")
        assert (out.text, out.stats.steps) == ("ghijklmnopqrs", 1)
        few = LLM(llm.model, llm.tokenizer, heads=llm.heads, nodes=4)  # whoever loads it with a number gets that
        assert few.engine.budget("ngram", timed=False).sizes == few.engine.budget("ngram").sizes == (4,)

    def test_rejection_repeats_a_text_with_the_same_trees(self) -> None:
        """Alone and in a batch, streamed and not. With other trees the same seed writes another text."""
        llm = tiny_llm(sharpness=0.4)
        options: dict[str, Any] = {
            "acceptance": "rejection", "drafter": "medusa", "temperature": 1.0, "max_new_tokens": 20, "ignore_eos": True,
        }  # fmt: skip
        first = llm.generate("a", seed=5, nodes=6, **options)
        others = llm.generate(["b", "a", "c"], seed=[1, 5, 2], nodes=6, **options)
        assert others[1].token_ids == first.token_ids
        streamed = [token for chunk in llm.stream("a", seed=5, nodes=6, **options) for token in chunk.token_ids]
        assert streamed == list(first.token_ids)
        assert llm.generate("a", seed=5, nodes=3, **options).token_ids != first.token_ids
        assert first.stats.steps < 19  # some draws were accepted

    def test_lossy_rules_take_what_is_likely_enough(self) -> None:
        """The next letter has probability e^2 / (e^2 + 63) = 0.1, and heads are right: threshold 0.01 takes every guess, 0.5 none.
        (At temperature 1 guesses are drawn with noise, so that they are often not the next letter, but never less likely.)"""
        llm = tiny_llm(sharpness=0.25)
        easy = llm.generate("a", max_new_tokens=41, temperature=1.0, seed=3, acceptance="threshold", threshold=0.01)
        hard = llm.generate("a", max_new_tokens=41, temperature=1.0, seed=3, acceptance="threshold", threshold=0.5)
        assert hard.stats.steps == 40
        assert easy.stats.steps == 10  # four tokens a step
        plain = llm.generate("a", max_new_tokens=41, temperature=1.0, seed=3, drafter="none")
        assert hard.token_ids == plain.token_ids  # nothing was accepted, and roots are the exact rule's


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repetition_penalty": 0}, "repetition_penalty is 0; expected a number above 0"),
        ({"presence_penalty": 3}, r"presence_penalty is 3; expected a number in \[-2, 2\]"),
        ({"typical_p": 0}, r"typical_p is 0; expected a number in \(0, 1\]"),
        ({"logit_bias": {"x": 1.0}}, "logit_bias names 'x'; expected token ids"),
        ({"logit_bias": {VOCAB: 1.0}}, f"logit_bias names the id {VOCAB}; expected ids of this model, 0 to {VOCAB - 1}"),
        ({"allowed_token_ids": []}, "allowed_token_ids is empty"),
        ({"bad_words": [""]}, "the bad word '' is empty"),
        ({"top_logprobs": -1}, "top_logprobs is -1; expected at least 0"),
        ({"acceptance": "lucky"}, r"acceptance 'lucky' is not known; expected one of exact, rejection \(exact in"),
        ({"epsilon": 0.1}, "epsilon is no parameter of the acceptance 'exact'"),
        ({"acceptance": "typical", "epsilon": 2.0}, "epsilon is 2.0; expected a probability"),
    ],
)
def test_mistakes(llm: LLM, options: dict[str, Any], message: str) -> None:
    for call in (llm.generate, llm.chat, llm.stream):
        with pytest.raises(InvalidParameterError, match=message):
            call("a", **options)
    assert not busy(llm)
