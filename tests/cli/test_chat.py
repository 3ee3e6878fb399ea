"""``headstart chat`` over a pipe."""

import io
import json
import shutil
from pathlib import Path

import pytest

import headstart
from headstart.cli.main import main

COMMON = ["--dtype", "float32", "--max-new-tokens", "8"]


def talk(lines: str, arguments: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr("sys.stdin", io.StringIO(lines))
    assert main(["chat", *arguments, *COMMON]) == 0
    return str(capsys.readouterr().out)


def test_the_second_answer_sees_the_first(
    tiny_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = talk("Hi\n\nAnd you?\n", [tiny_model, "--json", "--system", "Be kind"], monkeypatch, capsys)
    first, second = [json.loads(line) for line in shown.splitlines()]  # the empty line is no message
    llm = headstart.load(tiny_model, heads=None, dtype="float32")
    messages = [{"role": "system", "content": "Be kind"}, {"role": "user", "content": "Hi"}]
    assert first["token_ids"] == list(llm.chat(messages, max_new_tokens=8).token_ids)
    messages += [{"role": "assistant", "content": first["text"]}, {"role": "user", "content": "And you?"}]
    assert second["token_ids"] == list(llm.chat(messages, max_new_tokens=8).token_ids)


def test_exit_ends_it(tiny_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown = talk("/exit\nHi\n", [tiny_model], monkeypatch, capsys)
    assert shown == ""


def test_answers_are_plain_lines_over_a_pipe(
    tiny_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = talk("Hi\n", [tiny_model], monkeypatch, capsys)
    llm = headstart.load(tiny_model, heads=None, dtype="float32")
    assert shown == llm.chat("Hi", max_new_tokens=8).text + "\n"


class Keyboard(io.StringIO):
    """A person who types these lines."""

    def isatty(self) -> bool:
        return True


def test_a_message_too_long_does_not_end_a_conversation(
    tiny_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # the context holds 256 tokens, a token is a byte; the long message is forgotten, so the next one is the first
    monkeypatch.setattr("sys.stdin", Keyboard("x" * 300 + "\nHi\n/exit\n"))
    assert main(["chat", tiny_model, *COMMON]) == 0
    captured = capsys.readouterr()
    llm = headstart.load(tiny_model, heads=None, dtype="float32")
    assert captured.out == "> > " + llm.chat("Hi", max_new_tokens=8).text + "\n> "
    assert "error: " in captured.err


def test_over_a_pipe_it_does(tiny_model: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("x" * 300 + "\nHi\n"))
    assert main(["chat", tiny_model, *COMMON]) == 2
    assert "error: " in capsys.readouterr().err


def test_a_model_without_a_template(
    tiny_model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(tiny_model, tmp_path / "plain", ignore=shutil.ignore_patterns("chat_template*"))
    monkeypatch.setattr("sys.stdin", io.StringIO("Hi\n"))
    assert main(["chat", str(tmp_path / "plain"), *COMMON]) == 2
    assert "chat template" in capsys.readouterr().err
