"""``headstart demo``."""

import json

import pytest

import headstart
from headstart.cli import demo
from headstart.cli.main import main
from headstart.completion import Completion, Stats

COMMON = ["--dtype", "float32", "--prompt", "Hi", "--max-new-tokens", "20"]


def test_json(tiny_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--model", tiny_model, "--json", *COMMON]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["equal"] is True
    assert record["plain"]["token_ids"] == record["heads"]["token_ids"]
    assert record["plain"]["stats"]["tokens_per_step"] == 1.0  # by definition of plain decoding
    assert record["speedup"] > 0


def test_heads_draft_and_the_text_stays(tiny_model: str, heads_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--model", tiny_model, "--heads", heads_path, "--nodes", "4", "--json", *COMMON]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["equal"], record["drafter"]) == (True, "combined")
    stats = record["heads"]["stats"]
    assert stats["proposed_tokens"] > 0
    assert stats["steps"] == 19 - stats["accepted_tokens"]  # 20 tokens: the first from prefill, each step one root more


def test_both_texts_are_shown_with_their_steps(tiny_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--model", tiny_model, *COMMON]) == 0
    shown = capsys.readouterr().out
    text = headstart.load(tiny_model, heads=None, dtype="float32").chat("Hi", max_new_tokens=20).text
    assert shown.replace("·", "").count(text) == 2
    assert "Drafting with what followed the same tokens before (ngram) (" in shown  # this model has no heads
    assert "The two texts are equal, token for token (20 tokens)." in shown
    assert "\x1b" not in shown  # not a terminal, so no colours


def completion(ids: list[int], proposed: int = 0) -> Completion:
    stats = Stats(emitted_tokens=len(ids), steps=2, proposed_tokens=proposed)
    return Completion(text="", token_ids=ids, finish_reason="length", seed=0, prompt_tokens=1, stats=stats)


class Unfaithful:
    """A model whose drafter changes the text, which none of ours does."""

    drafter = "oracle"

    def chat(self, prompt: str, **_: object) -> Completion:
        return completion([1, 2, 3])

    def stream(self, prompt: str, *, drafter: str | None = None, **_: object) -> list[headstart.Chunk]:
        ids = [1, 2, 3] if drafter == "none" else [1, 9, 3]
        return [headstart.Chunk(text="abc", token_ids=ids, finish_reason="length", completion=completion(ids, proposed=4))]


def test_texts_that_differ_exit_with_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(demo.ModelOptions, "load", lambda *_, **__: Unfaithful())
    assert main(["demo"]) == 1
    assert "The two texts DIFFER from token 1 on." in capsys.readouterr().out  # 2 against 9
    assert main(["demo", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["equal"] is False
