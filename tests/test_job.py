"""A request's text as its events come in."""

from typing import Any

import pytest

from headstart.completion import Stats
from headstart.engine.event import Event
from headstart.job import Job, broken_off
from headstart.llm import LLM
from headstart.request import Request
from headstart.text.output import TextOutput
from headstart.text.tokenizer import Tokenizer
from tests.tiny_llm import busy, tiny_llm
from tests.tiny_models import letter_ids, letters_tokenizer


def event(text: str, finish_reason: Any = None) -> Event:
    return Event(0, letter_ids(text), finish_reason, None, Stats())


def job(tokenizer: Tokenizer) -> Job:
    return Job(Request(prompt_ids=[3], seed=7), TextOutput(tokenizer, (), 0), None)


def test_chunks_and_the_whole() -> None:
    mine = job(letters_tokenizer())
    first, last = mine.chunk(event("ab")), mine.chunk(event("c", "length"))
    assert (first.text, first.completion, last.text, last.finish_reason) == ("ab", None, "c", "length")
    assert last.completion is not None
    assert (last.completion.text, last.completion.token_ids, last.completion.seed) == ("abc", tuple(letter_ids("abc")), 7)


def fails_at(letter: str, tokenizer: Tokenizer) -> Tokenizer:
    """The tokenizer, made unable to spell one id."""
    decode = tokenizer.decode

    def spell(ids: Any, **options: Any) -> str:
        if letter_ids(letter)[0] in ids:
            raise RuntimeError("no such piece")
        return decode(ids, **options)

    tokenizer.decode = spell  # type: ignore[method-assign]
    return tokenizer


def test_ids_that_cannot_be_spelled_end_the_text() -> None:
    mine = job(fails_at("c", letters_tokenizer()))
    assert mine.chunk(event("ab")).text == "ab"
    chunk = mine.chunk(event("c"))
    assert (chunk.text, chunk.finish_reason) == ("", "error")
    assert chunk.completion is not None
    assert (chunk.completion.text, str(chunk.completion.error)) == ("ab", "no such piece")


def test_they_take_no_other_text_along() -> None:
    llm = tiny_llm()
    assert llm.tokenizer is not None
    fails_at("i", llm.tokenizer)
    first, second = llm.generate(["a", "x"], max_new_tokens=12)
    assert (first.finish_reason, str(first.error)) == ("error", "no such piece")
    assert first.text == "bcdef"  # the block ghij could not be spelled
    assert (second.finish_reason, second.text) == ("length", "yzABCDEFGHIJ")
    with pytest.raises(RuntimeError, match="no such piece"):
        list(llm.stream("a", max_new_tokens=12))
    assert not busy(llm)


def test_a_step_that_breaks_off() -> None:
    error = RuntimeError("out of memory")
    assert (broken_off(3, error).finish_reason, broken_off(3, error).error) == ("error", error)
    assert (broken_off(3, KeyboardInterrupt()).finish_reason, broken_off(3, KeyboardInterrupt()).error) == ("cancelled", None)


@pytest.fixture
def llm() -> LLM:
    return tiny_llm()


@pytest.mark.parametrize(("error", "reason"), [(RuntimeError("out of memory"), "error"), (KeyboardInterrupt(), "cancelled")])
def test_a_model_that_fails_ends_every_open_text(
    llm: LLM, error: BaseException, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two open streams one steps the model: it raises, and the other is told; nothing goes on with a hole in it."""
    one, other = llm.stream("a", max_new_tokens=20), llm.stream("x", max_new_tokens=20)
    assert (next(one).text, next(other).text) == ("b", "y")

    def fail(*_: object) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(llm.model, "verify", fail)
        with pytest.raises(type(error)):
            next(one)
    if reason == "error":
        with pytest.raises(RuntimeError, match="out of memory"):
            list(other)
    else:
        assert [chunk.finish_reason for chunk in other] == ["cancelled"]
    assert not busy(llm)
    assert llm.generate("a", max_new_tokens=3).text == "bcd"
