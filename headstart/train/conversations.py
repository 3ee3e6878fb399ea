"""Reads given training data: JSONL files of chat messages, prompts with responses, or plain texts."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import DataError

ROLES = ("system", "user", "assistant")
_EXPECTED = 'expected {"messages": [{"role", "content"}, ...]}, {"prompt", "response"} or {"text"}'


@dataclass(frozen=True)
class Given:
    """One row of a data file: a conversation or a plain text."""

    origin: str
    """File and line, for messages to people."""
    messages: list[dict[str, str]] | None = None
    text: str | None = None


def read_conversations(paths: Sequence[Path]) -> list[Given]:
    """All rows of all files, in order.

    Raises:
        DataError: a file is missing or empty, or a row is malformed; it names file, line and reason.
    """
    rows = [row for path in paths for row in _read_file(path)]
    if not rows:
        raise DataError(f"no training data in {', '.join(map(str, paths))}; {_EXPECTED}, one JSON object a line")
    return rows


def _read_file(path: Path) -> Iterable[Given]:
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # not splitlines: U+2028 is text
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"training data {path} cannot be read: {error}; expected a JSONL file in UTF-8") from error
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _read_row(line, f"{path}:{number}")


def _read_row(line: str, origin: str) -> Given:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{origin}: not JSON ({error.msg} at column {error.colno}); {_EXPECTED}, one object a line") from error
    if not isinstance(row, dict):
        raise DataError(f"{origin}: a JSON {type(row).__name__}; {_EXPECTED}")
    if "messages" in row:
        return Given(origin, messages=_messages(row["messages"], origin))
    if "prompt" in row:
        turns = [{"role": "user", "content": _string(row["prompt"], "prompt", origin)}]
        if row.get("response") is not None:
            turns.append({"role": "assistant", "content": _string(row["response"], "response", origin)})
        return Given(origin, messages=turns)
    if "text" in row:
        return Given(origin, text=_string(row["text"], "text", origin))
    raise DataError(f"{origin}: keys {sorted(map(str, row))}; {_EXPECTED}")


def _messages(value: Any, origin: str) -> list[dict[str, str]]:
    if not isinstance(value, list) or not value:
        raise DataError(f"{origin}: messages is {_short(value)}; expected a list of at least one message")
    messages = []
    for i, message in enumerate(value):
        if not isinstance(message, dict) or message.get("role") not in ROLES:
            raise DataError(f"{origin}: message {i} is {_short(message)}; expected a role out of {', '.join(ROLES)}, and content")
        messages.append({"role": message["role"], "content": _string(message.get("content"), f"content of message {i}", origin)})
    if all(message["role"] != "user" for message in messages):
        raise DataError(f"{origin}: no message has the role user; there is nothing to answer")
    return messages


def _string(value: Any, name: str, origin: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{origin}: {name} is {_short(value)}; expected a string that is not empty")
    return value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
