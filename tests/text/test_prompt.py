"""What is one prompt, what is several, and what is none."""

from typing import Any

import pytest

from headstart.errors import ChatTemplateError, PromptError
from headstart.text.prompt import chat_ids, is_messages, is_one_conversation, is_one_prompt, prompt_ids
from tests.tiny_models import letter_ids, letters_tokenizer

USER = {"role": "user", "content": "ab"}


@pytest.mark.parametrize(
    ("given", "prompt", "conversation"),
    [
        ("a", True, True),
        (["a", "b"], False, False),
        ([1, 2], True, False),
        ((1, 2), True, False),
        ([[1], [2]], False, False),
        ([USER], False, True),
        ([[USER]], False, False),
        ([], False, False),  # a list of none
        (5, True, True),  # judged, and refused, as one
        (None, True, True),
        (iter("ab"), True, True),
    ],
)
def test_one_or_several(given: Any, prompt: bool, conversation: bool) -> None:
    assert (is_one_prompt(given), is_one_conversation(given)) == (prompt, conversation)


def test_only_messages_are_a_conversation_for_certain() -> None:
    assert [is_messages(given) for given in ([USER], "ab", [1], [], None)] == [True, False, False, False, False]


def test_ids() -> None:
    tokenizer = letters_tokenizer()
    assert prompt_ids("ab", tokenizer) == letter_ids("ab")
    assert prompt_ids((3, 4), None) == [3, 4]
    assert chat_ids("ab", tokenizer) == chat_ids([USER], tokenizer)


@pytest.mark.parametrize("given", [5, None, ["a"], [1, None], [2.5], iter("ab"), {"a": 1}])
def test_what_is_no_prompt(given: Any) -> None:
    with pytest.raises(PromptError, match="expected a string or a list of token ids, or a list of those"):
        prompt_ids(given, letters_tokenizer())


@pytest.mark.parametrize("given", [5, None, iter("ab")])
def test_what_is_no_conversation(given: Any) -> None:
    with pytest.raises(PromptError, match="expected a string or a list of messages, or a list of those"):
        chat_ids(given, letters_tokenizer())
    with pytest.raises(ChatTemplateError, match="without a tokenizer"):
        chat_ids(given, None)
