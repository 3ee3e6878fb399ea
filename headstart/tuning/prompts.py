"""Prompts to tune on: the user's own file, or a bundled set of everyday questions."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from headstart.errors import ChatTemplateError, DataError
from headstart.json_lines import json_object, read_lines
from headstart.text.tokenizer import Tokenizer

logger = logging.getLogger("headstart")

_BUNDLED = "prompts.jsonl"
_EXPECTED = 'expected {"turns": [...]}, {"messages": [...]}, {"prompt": ...} or {"text": ...}, one JSON object a line'


@dataclass(frozen=True)
class Prompt:
    """Something for the model to answer, or a text to go on with."""

    messages: tuple[dict[str, str], ...] = ()
    """A conversation whose last message is the user's; empty for a text."""
    text: str = ""

    def ids(self, tokenizer: Tokenizer) -> Sequence[int]:
        """A conversation in the model's chat format; where there is none or it refuses, its last message as text, and a warning."""
        if not self.messages:
            return tokenizer.encode(self.text)
        try:
            return tokenizer.chat_ids(list(self.messages))
        except ChatTemplateError as error:
            _say_plain(str(error))
            return tokenizer.encode(self.messages[-1]["content"])


def read_prompts(path: Path | None) -> list[Prompt]:
    """The prompts of a JSONL file, or the bundled ones.

    Of ``turns`` (as in Spec-Bench's question.jsonl) the first is taken, of ``messages`` all up to the user's last one.

    Raises:
        DataError: the file cannot be read, a line is malformed, or there is no prompt.
    """
    return [prompt_of(row, origin) for origin, row in read_rows(path)]


def read_rows(path: Path | None) -> list[tuple[str, dict[str, Any]]]:
    """The JSON objects of a JSONL file, or of the bundled one, each with the place that it stands at.

    Raises:
        DataError: the file cannot be read, a line is no JSON object, or there is none.
    """
    where = str(path) if path is not None else f"the bundled {_BUNDLED}"
    source = path if path is not None else files("headstart") / "assets" / _BUNDLED
    lines = read_lines(source, "the prompts in", where, "a JSONL file in UTF-8")
    if not lines:
        raise DataError(f"there are no prompts in {where}; {_EXPECTED}")
    return [(origin, json_object(line, origin, _EXPECTED)) for origin, line in lines]


def prompt_of(row: Mapping[str, Any], origin: str) -> Prompt:
    """The prompt that a row of a file holds; raises DataError where there is none. ``origin`` is for the message."""
    if "turns" in row:
        turns = row["turns"]
        first = turns[0] if isinstance(turns, list) and turns else None
        return Prompt(messages=({"role": "user", "content": _string(first, "the first of turns", origin)},))
    if "messages" in row:
        return Prompt(messages=_messages(row["messages"], origin))
    if "prompt" in row:
        return Prompt(messages=({"role": "user", "content": _string(row["prompt"], "prompt", origin)},))
    if "text" in row:
        return Prompt(text=_string(row["text"], "text", origin))
    raise DataError(f"{origin}: keys {sorted(map(str, row))}; {_EXPECTED}")


def _messages(value: Any, origin: str) -> tuple[dict[str, str], ...]:
    good = isinstance(value, list) and all(isinstance(m, dict) and isinstance(m.get("role"), str) for m in value)
    users = [i for i, message in enumerate(value) if message["role"] == "user"] if good else []
    if not users:
        raise DataError(f"{origin}: messages is no list of role and content with a message of the user's; {_EXPECTED}")
    kept = value[: users[-1] + 1]
    return tuple({"role": m["role"], "content": _string(m.get("content"), "content of a message", origin)} for m in kept)


def _string(value: Any, name: str, origin: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{origin}: {name} is {value!r:.60}; expected a string that is not empty")
    return value


@lru_cache
def _say_plain(reason: str) -> None:
    """Once for each reason, and not for each prompt."""
    logger.warning("prompts go to the model as plain text, of which it writes on instead of answering: %s", reason)
