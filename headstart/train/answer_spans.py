"""Where the answers lie in a rendered conversation, found by rendering the chat template prefix by prefix."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.errors import ChatTemplateError, DataError, PromptError
from headstart.text.tokenizer import Tokenizer

_MERGED = 2  # tokens at the end of a prompt that may merge with the beginning of the answer


@dataclass(frozen=True)
class MarkedText:
    """Ids of a text, and which of them are answers."""

    ids: list[int]
    spans: list[tuple[int, int]]
    """From the first id of an answer to the one after its last; the id that ends the turn belongs to it."""


def chat_texts(tokenizer: Tokenizer, messages: Sequence[dict[str, str]], stop_ids: frozenset[int], origin: str) -> list[MarkedText]:
    """The conversation as one text with all its answers; or, where the template shows an earlier answer differently once the
    conversation goes on, a text for each answer. What an assistant says first of all answers nothing, and is read as a prompt.

    Raises:
        DataError: the template refuses the messages, or does not put an answer after the prompt that asks for it. ``origin`` says
            where they came from.
    """
    try:
        return _chat_texts(tokenizer, messages, stop_ids, origin)
    except (ChatTemplateError, PromptError) as error:
        raise DataError(f"{origin}: {error}") from error


def _chat_texts(
    tokenizer: Tokenizer, messages: Sequence[dict[str, str]], stop_ids: frozenset[int], origin: str
) -> list[MarkedText]:
    turns = [i for i, message in enumerate(messages) if i and message["role"] == "assistant"]
    if not turns:
        return []
    whole = tokenizer.chat_ids(list(messages[: turns[-1] + 1]), add_generation_prompt=False)
    prompts = [tokenizer.chat_ids(list(messages[:i])) for i in turns]
    spans = [_span(prompt, whole, stop_ids) for prompt in prompts]
    if all(span is not None for span in spans):
        return [MarkedText(whole, [span for span in spans if span is not None])]
    texts = []
    for i, prompt in zip(turns, prompts, strict=True):
        ids = tokenizer.chat_ids(list(messages[: i + 1]), add_generation_prompt=False)
        span = _span(prompt, ids, stop_ids)
        if span is None:
            raise DataError(
                f"{origin}: the chat template writes message {i} in a way that does not follow from its own prompt for an answer,"
                " so the answer cannot be found; the model writes the answers itself without --keep-answers and --endpoint"
            )
        texts.append(MarkedText(ids, [span]))
    return texts


def plain_text(tokenizer: Tokenizer, text: str) -> MarkedText:
    """A text without turns: all of it but the first token, which nothing predicts."""
    ids = tokenizer.encode(text)
    return MarkedText(ids, [(1, len(ids))] if len(ids) > 1 else [])


def _span(prompt: Sequence[int], ids: Sequence[int], stop_ids: frozenset[int]) -> tuple[int, int] | None:
    """The answer that follows ``prompt`` in ``ids``: up to the first id that stops, or the end; None if it does not follow."""
    start = 0
    while start < min(len(prompt), len(ids)) and prompt[start] == ids[start]:
        start += 1
    if start < len(prompt) - _MERGED or start == 0 or start >= len(ids):
        return None
    for end in range(start, len(ids)):
        if ids[end] in stop_ids:
            return start, end + 1
    return start, len(ids)
