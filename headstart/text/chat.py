"""Conversations: what a message may look like, and how the model's own chat template writes them down."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headstart.errors import ChatTemplateError, PromptError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Messages = str | Sequence[Mapping[str, Any]]
"""A conversation: messages with ``role`` and ``content``; a plain string is one message of the user."""

ROLES = ("system", "developer", "user", "assistant", "tool")

# Words that no template writes by itself, without white space that a template could strip.
_USER_MARK = "HeadstartUserText"
_ANSWER_MARK = "HeadstartAnswerText"


def validated(messages: Messages) -> list[dict[str, Any]]:
    """The messages as dicts that a template takes. Keys beside ``role`` and ``content`` are passed on.

    Raises:
        PromptError: no messages, a message that is no mapping, an unknown role, or a content that is no string.
    """
    if not messages:
        raise PromptError("the conversation is empty; expected at least one message, for instance of the user")
    if isinstance(messages, str):
        messages = [{"role": "user", "content": messages}]
    result = []
    for index, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise PromptError(f"message {index} is {message!r}; expected a mapping with 'role' and 'content'")
        role, content = message.get("role"), message.get("content")
        if role not in ROLES:
            raise PromptError(f"message {index} has the role {role!r}; expected one of {', '.join(ROLES)}")
        if not isinstance(content, str):
            raise PromptError(f"message {index} has a content of type {type(content).__name__}; expected a string")
        result.append(dict(message))
    return result


class ChatTemplate:
    """The chat template of a tokenizer."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        self._tokenizer = tokenizer

    @property
    def exists(self) -> bool:
        return bool(getattr(self._tokenizer, "chat_template", None))

    def render(self, messages: Messages, *, add_generation_prompt: bool) -> str:
        """The conversation as text, special tokens included; with the start of the answer if it is asked for.

        Raises:
            PromptError: see :func:`validated`.
            ChatTemplateError: the tokenizer has no template, or the template refuses the messages.
        """
        conversation = validated(messages)
        if not self.exists:
            raise ChatTemplateError(
                f"the tokenizer of {self._name} has no chat template, so it cannot be chatted with. Use a model that was trained on"
                " conversations (its name often ends in Instruct or Chat), or send a plain text to generate()"
            )
        try:
            text = self._tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=add_generation_prompt)
        except Exception as error:  # a template is the model author's code and can raise anything
            roles = ", ".join(message["role"] for message in conversation)
            raise ChatTemplateError(
                f"the chat template of {self._name} refuses these messages (roles: {roles}): {error}."
                " Many templates want an optional system message, then user and assistant in turn, the user first"
            ) from error
        assert isinstance(text, str)
        return text

    def before_user_text(self) -> str:
        """What the template writes before the text of a first message of the user.

        Raises:
            ChatTemplateError: see :meth:`render`; or the template does not write the user's text as it is.
        """
        text = self.render(_USER_MARK, add_generation_prompt=False)
        start = text.find(_USER_MARK)
        if start < 0:
            raise ChatTemplateError(f"the chat template of {self._name} does not write the user's text as it is given")
        return text[:start]

    def after_answer(self) -> str:
        """What the template writes after an answer; empty where there is no template or it takes no whole conversation."""
        conversation = [{"role": "user", "content": _USER_MARK}, {"role": "assistant", "content": _ANSWER_MARK}]
        try:
            text = self.render(conversation, add_generation_prompt=False)
        except ChatTemplateError:
            return ""  # nothing is known of the end of a turn then; the model's end-of-text ids still hold
        return text.partition(_ANSWER_MARK)[2]

    @property
    def _name(self) -> str:
        return getattr(self._tokenizer, "name_or_path", "") or "this model"
