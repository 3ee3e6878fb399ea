"""Prompts to tune on."""

import logging
from pathlib import Path

import pytest

from headstart.errors import DataError
from headstart.tuning.prompts import Prompt, read_prompts
from tests.tiny_models import letter_ids, letters_tokenizer


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def test_every_form(tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(
        '{"question_id": 81, "category": "writing", "turns": ["one", "two"]}\n\n'
        '{"prompt": "three"}\n'
        '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "four"},'
        ' {"role": "assistant", "content": "a"}]}\n'
        '{"text": "five"}\n'
    )
    assert read_prompts(file) == [
        Prompt(messages=(user("one"),)),
        Prompt(messages=(user("three"),)),
        Prompt(messages=({"role": "system", "content": "s"}, user("four"))),  # the answer is the model's to write
        Prompt(text="five"),
    ]


def test_ids() -> None:
    tokenizer = letters_tokenizer()
    assert list(Prompt(text="ab").ids(tokenizer)) == list(tokenizer.encode("ab"))
    # the chat template of these letters puts <s> before the text
    assert list(Prompt(messages=(user("ab"),)).ids(tokenizer)) == [1, *letter_ids("ab")]


def test_a_conversation_without_a_chat_format_is_said(caplog: pytest.LogCaptureFixture) -> None:
    """Once, however many prompts there are."""
    tokenizer = letters_tokenizer(chat_template=None)
    with caplog.at_level(logging.WARNING, logger="headstart"):
        assert [list(Prompt(messages=(user("ab"),)).ids(tokenizer)) for _ in range(3)] == [list(tokenizer.encode("ab"))] * 3
    (message,) = [record.getMessage() for record in caplog.records]
    assert "prompts go to the model as plain text" in message
    assert "chat template" in message


def test_the_bundled_prompts() -> None:
    prompts = read_prompts(None)
    assert len(prompts) == 64
    assert len({prompt.messages[0]["content"] for prompt in prompts}) == 64


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", ":1: not JSON"),
        ("[]", ":1: a JSON list"),
        ('{"question": "a"}', "keys"),
        ('{"turns": []}', "the first of turns is None"),
        ('{"prompt": " "}', "prompt is ' '"),
        ('{"messages": [{"role": "assistant", "content": "a"}]}', "a message of the user's"),
        ('{"messages": [1]}', "a message of the user's"),
        ('{"messages": [{"role": "user", "content": 1}]}', "content of a message is 1"),
        ("", "there are no prompts"),
    ],
)
def test_mistakes(line: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    file.write_text(line)
    with pytest.raises(DataError, match=message):
        read_prompts(file)
    with pytest.raises(DataError, match="cannot be read"):
        read_prompts(tmp_path / "missing.jsonl")
