"""Text in, text out. The model goes on with the next letter of its alphabet, so that what it writes is known."""

import threading
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from headstart.completion import Chunk, Completion
from headstart.errors import HeadstartError, InvalidParameterError
from headstart.llm import LLM, load
from headstart.sampling.noise import fold
from tests.tiny_llm import busy, tiny_llm
from tests.tiny_models import CONTEXT, EOS, LETTERS, letter_ids, tiny

SAMPLED = {"temperature": 1.0, "max_new_tokens": 30}
SHARPNESS = 0.5  # the next letter has exp(4) / (exp(4) + 63) = 46 % at temperature 1


@pytest.fixture
def llm() -> LLM:
    """With heads that are always right when greedy: four letters a step."""
    return tiny_llm()


@pytest.fixture
def loose() -> LLM:
    """One whose sampled texts wander."""
    return tiny_llm(sharpness=SHARPNESS)


class TestGenerate:
    def test_one_text(self, llm: LLM) -> None:
        out = llm.generate("ab", max_new_tokens=9)
        assert (out.text, out.token_ids, out.finish_reason) == ("cdefghijk", tuple(letter_ids("cdefghijk")), "length")
        assert (out.prompt_tokens, out.stats.emitted_tokens, out.stats.steps, out.stats.tokens_per_step) == (2, 9, 2, 4.0)

    def test_a_list_gives_a_list_in_order(self, llm: LLM) -> None:
        outs = llm.generate(["a", "xyz", letter_ids("M")], max_new_tokens=3)
        assert [out.text for out in outs] == ["bcd", "ABC", "NOP"]
        assert [out.text for out in llm.generate(["a"], max_new_tokens=1)] == ["b"]
        assert llm.generate([]) == []

    def test_ids_as_a_prompt(self, llm: LLM) -> None:
        assert llm.generate(letter_ids("ab"), max_new_tokens=2).text == "cd"
        assert llm.generate(tuple(letter_ids("ab")), max_new_tokens=2).text == "cd"

    @pytest.mark.parametrize("drafter", ["none", "medusa"])
    def test_the_end_of_text_is_an_id_and_no_text(self, llm: LLM, drafter: str) -> None:
        out = llm.generate("!?", drafter=drafter)
        assert (out.text, out.token_ids, out.finish_reason) == (":;-\n", (*letter_ids(":;-\n"), EOS), "stop")
        assert out.stats.emitted_tokens == 5

    @pytest.mark.parametrize("drafter", ["none", "medusa"])
    def test_beyond_the_end_of_text(self, llm: LLM, drafter: str) -> None:
        out = llm.generate("-", drafter=drafter, ignore_eos=True, max_new_tokens=5)
        assert (out.text, out.token_ids) == ("\nabc", (*letter_ids("\n"), EOS, *letter_ids("abc")))

    @pytest.mark.parametrize("drafter", ["none", "medusa"])
    @pytest.mark.parametrize("stop", ["fg", ["zz", "fg", "gh"], ["defg", "g"], "g"])
    def test_stop_strings(self, llm: LLM, drafter: str, stop: Any) -> None:
        # the ids go up to g, which completes the string; the first block of the heads is cdef and the second ghij
        out = llm.generate("a", drafter=drafter, stop=stop)
        string = next(s for s in ([stop] if isinstance(stop, str) else stop) if "bcdefg".endswith(s))
        assert (out.token_ids, out.finish_reason) == (tuple(letter_ids("bcdefg")), "stop")
        assert out.text == "bcdefg".removesuffix(string)
        assert out.stats.emitted_tokens == 6

    @pytest.mark.parametrize("drafter", ["none", "medusa"])
    def test_stop_ids(self, llm: LLM, drafter: str) -> None:
        out = llm.generate("a", drafter=drafter, stop_ids=letter_ids("ge"))
        assert (out.text, out.token_ids, out.finish_reason) == ("bcd", tuple(letter_ids("bcde")), "stop")

    @pytest.mark.parametrize("drafter", ["none", "medusa"])
    def test_stop_strings_are_not_matched_before_the_minimum(self, llm: LLM, drafter: str) -> None:
        out = llm.generate("a", drafter=drafter, stop=["cd", "fg"], min_new_tokens=4, max_new_tokens=20)
        assert (out.text, len(out.token_ids)) == ("bcde", 6)

    def test_to_the_end_of_the_context(self) -> None:
        llm = tiny_llm()
        out = llm.generate("a" * (CONTEXT - 1), max_new_tokens=None)
        assert (out.text, out.finish_reason, out.stats.steps) == ("b", "length", 0)
        out = llm.generate("a" * (CONTEXT - 10), max_new_tokens=500)
        assert (out.text, out.finish_reason) == ("bcdefghijk", "length")
        assert llm.generate("abc", max_context=5, max_new_tokens=None).text == "de"

    def test_rows_and_slots_of_one_call(self, llm: LLM) -> None:
        prompts = ["a", "b", "c", "d", "e"]
        expected = [LETTERS[i + 1 : i + 7] for i in range(5)]
        for options in ({}, {"max_rows": 1}, {"max_rows": 2}, {"cache_tokens": 15}):
            assert [out.text for out in llm.generate(prompts, max_new_tokens=6, **options)] == expected, options
        assert not busy(llm)

    @pytest.mark.parametrize("new", [None, 10])
    def test_cache_tokens_count_what_a_text_can_grow_to(self, llm: LLM, new: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
        """In a context of 12 each text can take 12 or, with 10 new ones, 11 positions: two of them have room in 24, not three."""
        together = 0
        submit = llm._submit

        def counted(job: Any) -> None:
            nonlocal together
            submit(job)
            together = max(together, len(llm._inbox))

        monkeypatch.setattr(llm, "_submit", counted)
        outs = llm.generate(list("abcde"), max_new_tokens=new, max_context=12, cache_tokens=24)
        assert [out.text for out in outs] == [LETTERS[i + 1 : i + 1 + (new or 11)] for i in range(5)]
        assert together == 2

    def test_more_prompts_than_rows(self) -> None:
        llm = tiny_llm(max_rows=2)
        assert [out.text for out in llm.generate(list("abcdefg"), max_new_tokens=2)] == ["bc", "cd", "de", "ef", "fg", "gh", "hi"]

    def test_a_chat(self, llm: LLM) -> None:
        assert llm.chat("abc", max_new_tokens=2).text == "de"
        one = llm.chat([{"role": "user", "content": "ab"}, {"role": "assistant", "content": "cd"}], max_new_tokens=2)
        assert (one.text, one.prompt_tokens) == ("ef", 5)  # <s> once, written by the template
        two = llm.chat([[{"role": "user", "content": "k"}], [{"role": "user", "content": "x"}]], max_new_tokens=2)
        assert [out.text for out in two] == ["lm", "yz"]

    def test_the_callers_threads_are_put_back(self, llm: LLM) -> None:
        before = torch.get_num_threads()
        assert llm.generate("a", max_new_tokens=3, threads=before + 1).text == "bcd"
        assert torch.get_num_threads() == before


class TestStream:
    @pytest.mark.parametrize("options", [{}, {"stop": "mn"}, {"stop": ["lm", "op"]}, {"drafter": "none"}, {"max_new_tokens": 1}])
    def test_is_generate_in_pieces(self, llm: LLM, options: dict[str, Any]) -> None:
        options = {"max_new_tokens": 23, **options}
        whole = llm.generate("a", **options)
        chunks = list(llm.stream("a", **options))
        assert "".join(chunk.text for chunk in chunks) == whole.text
        assert [token for chunk in chunks for token in chunk.token_ids] == list(whole.token_ids)
        assert [chunk.finish_reason for chunk in chunks] == [None] * (len(chunks) - 1) + [whole.finish_reason]
        assert [chunk.completion is None for chunk in chunks] == [True] * (len(chunks) - 1) + [False]
        last = chunks[-1].completion
        assert last is not None
        assert (last.text, last.token_ids, last.finish_reason) == (whole.text, whole.token_ids, whole.finish_reason)

    def test_a_step_is_a_chunk(self, llm: LLM) -> None:
        assert [chunk.text for chunk in llm.stream("a", max_new_tokens=10)] == ["b", "cdef", "ghij", "k"]

    def test_what_could_become_a_stop_string_is_held_back(self, llm: LLM) -> None:
        # f may begin "fx" and is shown only when g follows
        assert [chunk.text for chunk in llm.stream("a", max_new_tokens=7, stop="fx")] == ["b", "cde", "fgh"]

    def test_sampled(self, loose: LLM) -> None:
        whole = loose.generate("a", seed=5, **SAMPLED)
        assert "".join(chunk.text for chunk in loose.stream("a", seed=5, **SAMPLED)) == whole.text

    def test_a_conversation(self, llm: LLM) -> None:
        messages = [{"role": "user", "content": "abc"}]
        assert "".join(chunk.text for chunk in llm.stream(messages, max_new_tokens=3)) == "def"
        assert "".join(chunk.text for chunk in llm.stream("abc", chat=True, max_new_tokens=3)) == "def"

    @pytest.mark.parametrize("taken", [0, 1, 2])
    def test_closing_frees_the_row(self, llm: LLM, taken: int) -> None:
        stream = llm.stream("a", max_new_tokens=50)
        for _ in range(taken):
            next(stream)
        assert busy(llm)
        stream.close()  # type: ignore[attr-defined]
        assert not busy(llm)
        assert llm.generate("b", max_new_tokens=3).text == "cde"

    @pytest.mark.parametrize("taken", [0, 1])
    def test_a_forgotten_stream_frees_its_row(self, llm: LLM, taken: int) -> None:
        stream = llm.stream("a", max_new_tokens=50)
        for _ in range(taken):
            next(stream)
        del stream
        assert not busy(llm)

    def test_other_calls_between_chunks(self, llm: LLM) -> None:
        stream = llm.stream("a", max_new_tokens=13)
        pieces = [next(stream).text]
        assert llm.generate("x", max_new_tokens=3).text == "yzA"
        other = llm.stream("A", max_new_tokens=9)
        pieces.append(next(stream).text)
        assert "".join(chunk.text for chunk in other) == "BCDEFGHIJ"
        pieces += [chunk.text for chunk in stream]
        assert "".join(pieces) == "bcdefghijklmn"
        assert not busy(llm)

    def test_mistakes_are_raised_before_the_first_chunk(self, llm: LLM) -> None:
        for prompt, options in (("", {}), ("a", {"temperature": -1}), ("a" * CONTEXT, {}), ("a", {"maximum": 3})):
            with pytest.raises(HeadstartError):
                llm.stream(prompt, **options)
        assert not busy(llm)

    def test_closing_the_model_ends_its_streams(self, llm: LLM) -> None:
        with llm:
            stream = llm.stream("a", max_new_tokens=50)
            first = next(stream)
        rest = list(stream)
        assert (first.text, [chunk.finish_reason for chunk in rest][-1:]) == ("b", ["cancelled"])
        assert rest[-1].completion is not None
        assert (rest[-1].completion.text, rest[-1].completion.finish_reason) == ("b", "cancelled")
        assert not busy(llm)


class TestBatch:
    @pytest.mark.parametrize("drafter", ["none", "medusa"])
    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_batched_is_single(self, loose: LLM, drafter: str, temperature: float) -> None:
        prompts = ["a", "The fox", "x" * 30, "?"]
        options = {"max_new_tokens": 25, "temperature": temperature, "drafter": drafter}
        together = loose.generate(prompts, seed=3, **options)
        single = [loose.generate(prompt, seed=fold(3, i), **options) for i, prompt in enumerate(prompts)]
        assert [out.token_ids for out in together] == [out.token_ids for out in single]
        assert [out.text for out in together] == [out.text for out in single]

    @pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
    def test_heads_change_nothing(self, loose: LLM, temperature: float) -> None:
        prompts = ["a", "b", "c", "d"]
        options = {"max_new_tokens": 30, "temperature": temperature, "seed": 9}
        with_heads, plain = (loose.generate(prompts, drafter=drafter, **options) for drafter in ("medusa", "none"))
        assert [out.token_ids for out in with_heads] == [out.token_ids for out in plain]
        # the heads see the noise of the draw as well, so that they are right far more often than the letters alone are
        steps = sum(out.stats.steps for out in with_heads)
        assert steps < 0.7 * sum(out.stats.steps for out in plain)

    def test_threads(self, loose: LLM) -> None:
        prompts = [list("abc"), list("defg"), list("xy")]
        expected = [[out.token_ids for out in loose.generate(few, seed=4, **SAMPLED)] for few in prompts]
        found: list[Any] = [None] * (len(prompts) + 1)

        def batch(i: int) -> None:
            found[i] = [out.token_ids for out in loose.generate(prompts[i], seed=4, **SAMPLED)]

        def stream() -> None:
            found[-1] = "".join(chunk.text for chunk in loose.stream("q", seed=6, **SAMPLED))

        threads = [threading.Thread(target=batch, args=(i,)) for i in range(len(prompts))] + [threading.Thread(target=stream)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=120)
        assert found[:-1] == expected
        assert found[-1] == loose.generate("q", seed=6, **SAMPLED).text
        assert not busy(loose)


class TestSeeds:
    def test_the_same_seed_writes_the_same_text(self, loose: LLM) -> None:
        one, same, other = (loose.generate("a", seed=seed, **SAMPLED) for seed in (1, 1, 2))
        assert one.token_ids == same.token_ids != other.token_ids
        assert (one.seed, other.seed) == (1, 2)

    def test_a_list_folds_its_seed(self, loose: LLM) -> None:
        outs = loose.generate(["a"] * 5, seed=1, **SAMPLED)
        assert [out.seed for out in outs] == [fold(1, i) for i in range(5)]
        assert len({out.token_ids for out in outs}) == 5  # one prompt, five texts
        assert outs[0].token_ids == loose.generate("a", seed=1, **SAMPLED).token_ids

    def test_a_seed_for_each(self, loose: LLM) -> None:
        outs = loose.generate(["a", "a", "a"], seed=[4, 9, 4], **SAMPLED)
        assert [out.seed for out in outs] == [4, 9, 4]
        assert outs[0].token_ids == outs[2].token_ids != outs[1].token_ids
        with pytest.raises(InvalidParameterError, match="one seed per prompt"):
            loose.generate(["a", "a", "a"], seed=[4, 9], **SAMPLED)
        assert not busy(loose)

    def test_the_recorded_seed_writes_the_text_again(self, loose: LLM) -> None:
        first, second = loose.generate(["a", "b"], **SAMPLED)
        assert loose.generate("a", seed=first.seed, **SAMPLED).token_ids == first.token_ids
        assert loose.generate("b", seed=second.seed, **SAMPLED).token_ids == second.token_ids

    def test_without_a_seed_texts_differ(self, loose: LLM) -> None:
        options = {**SAMPLED, "ignore_eos": True}  # two texts that end at once would be the same
        outs = [*loose.generate(["a"] * 3, **options), *(loose.generate("a", **options) for _ in range(3))]
        assert len({out.seed for out in outs}) == 6
        assert len({out.token_ids for out in outs}) == 6

    @pytest.mark.parametrize("seed", [0, -1, 2**63, 2**70 + 1])
    def test_any_integer(self, loose: LLM, seed: int) -> None:
        out = loose.generate("a", seed=seed, **SAMPLED)
        assert loose.generate("a", seed=out.seed, **SAMPLED).token_ids == out.token_ids


class TestLoad:
    def test_a_model_that_is_loaded_already(self, caplog: pytest.LogCaptureFixture) -> None:
        llm = load(tiny("llama"))
        assert (llm.drafter, llm.tokenizer, llm.model.facts.implementation) == ("ngram", None, "transformers")
        assert llm.generate([5, 6], max_new_tokens=4).stats.steps == 3
        assert "no heads for" in caplog.text
        assert "headstart train" in caplog.text  # the hint says how to get some

    def test_types(self, llm: LLM) -> None:
        assert isinstance(llm.generate("a", max_new_tokens=1), Completion)
        stream = llm.stream("a", max_new_tokens=1)
        assert isinstance(stream, Iterator)
        assert all(isinstance(chunk, Chunk) for chunk in stream)
