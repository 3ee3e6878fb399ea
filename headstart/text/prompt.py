"""What callers give as prompts and conversations, one or several, and their token ids."""

import reprlib
from collections.abc import Mapping, Sequence
from numbers import Integral

from headstart.errors import ChatTemplateError, PromptError
from headstart.text.chat import Messages
from headstart.text.tokenizer import Tokenizer

Prompt = str | Sequence[int]


def prompt_ids(prompt: Prompt, tokenizer: Tokenizer | None) -> Sequence[int]:
    """The ids of a text, or the ids themselves.

    Raises:
        PromptError: it is empty or no prompt at all, or a text and there is no tokenizer.
    """
    if isinstance(prompt, str):
        if tokenizer is None:
            raise PromptError("this model came without a tokenizer; give the prompt as a list of token ids")
        if not prompt:
            raise PromptError("the prompt is empty; give at least one character")
        return tokenizer.encode(prompt)
    if not isinstance(prompt, Sequence) or not all(isinstance(token, Integral) for token in prompt):
        raise PromptError(f"a prompt is {reprlib.repr(prompt)}; expected a string or a list of token ids, or a list of those")
    return [int(token) for token in prompt]


def chat_ids(messages: Messages, tokenizer: Tokenizer | None) -> Sequence[int]:
    """The ids of a conversation, up to where the answer begins.

    Raises:
        PromptError: it is no conversation.
        ChatTemplateError: there is no tokenizer or no chat template, or the template refuses the messages.
    """
    if tokenizer is None:
        raise ChatTemplateError("this model came without a tokenizer, so there is no chat template; use generate() with ids")
    if not isinstance(messages, Sequence):
        raise PromptError(
            f"a conversation is {reprlib.repr(messages)}; expected a string or a list of messages, or a list of those"
        )
    return tokenizer.chat_ids(messages)


def is_one_prompt(prompts: object) -> bool:
    """Whatever is no list of prompts is taken for one, and judged as such."""
    return not isinstance(prompts, Sequence) or isinstance(prompts, str) or (bool(prompts) and isinstance(prompts[0], Integral))


def is_one_conversation(messages: object) -> bool:
    """Whatever is no list of conversations is taken for one, and judged as such."""
    return not isinstance(messages, Sequence) or isinstance(messages, str) or is_messages(messages)


def is_messages(prompt: object) -> bool:
    """Whether it is a list of messages: what only a conversation can be."""
    return isinstance(prompt, Sequence) and bool(prompt) and isinstance(prompt[0], Mapping)
