"""Reads given training data: chat messages, prompts with responses, or plain texts, in JSONL, Parquet or a hub data set."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headstart.errors import DataError
from headstart.json_lines import json_object, read_lines
from headstart.train.account import Lost, check_bad_rows
from headstart.train.hub_rows import PREFIX, hub_rows
from headstart.train.parquet_rows import parquet_rows

ROLES = ("system", "user", "assistant")
_SHARED_ROLES = {"system": "system", "human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant"}
"""What ShareGPT-like data call the roles."""
_EXPECTED = (
    'expected {"messages": [{"role", "content"}, ...]}, {"conversations": [{"from", "value"}, ...]}, {"prompt", "response"} or'
    ' {"text"}'
)
MALFORMED = "malformed"


@dataclass(frozen=True)
class Given:
    """One row of the data: a conversation or a plain text."""

    origin: str
    """File and line, for messages to people."""
    messages: list[dict[str, str]] | None = None
    text: str | None = None

    @property
    def parts(self) -> list[str]:
        """All that is said in it."""
        return [self.text] if self.text is not None else [message["content"] for message in self.messages or []]


@dataclass(frozen=True)
class Reading:
    """What reading came to."""

    rows: list[Given]
    lost: list[Lost] = field(default_factory=list)
    """Rows that cannot be used."""

    @property
    def read(self) -> int:
        return len(self.rows) + len(self.lost)


def read_conversations(paths: Sequence[Path], *, max_bad_rows: int = 0) -> Reading:
    """All rows of all files, in order: JSONL, ``.parquet``, or ``hub:NAME[@CONFIG][:SPLIT]`` for a data set of the hub.

    Raises:
        DataError: a file is missing or empty, or more than ``max_bad_rows`` rows are malformed; it names file, line and reason.
    """
    rows: list[Given] = []
    lost: list[Lost] = []
    for path in paths:
        for origin, raw in _raw_rows(path):
            try:
                rows.append(_given(raw, origin))
            except DataError as error:
                lost.append(Lost("skipped", MALFORMED, str(error)))
                check_bad_rows(lost, max_bad_rows)
    if not rows:
        reasons = "".join(f"\n  {row.detail}" for row in lost[:3])
        raise DataError(f"no training data in {', '.join(map(str, paths))}; {_EXPECTED}, one JSON object a line{reasons}")
    return Reading(rows, lost)


def _raw_rows(path: Path) -> Iterable[tuple[str, str | Mapping[str, Any]]]:
    if str(path).startswith(PREFIX):
        return hub_rows(str(path))
    if path.suffix == ".parquet":
        return parquet_rows(path)
    return read_lines(
        path, "training data", str(path), f"a JSONL file in UTF-8, a .parquet file, or {PREFIX}NAME for a data set of the hub"
    )


def _given(raw: str | Mapping[str, Any], origin: str) -> Given:
    row = json_object(raw, origin, f"{_EXPECTED}, one object a line") if isinstance(raw, str) else raw
    for name in ("messages", "conversations"):
        if row.get(name) is not None:
            return Given(origin, messages=_messages(row[name], name, origin))
    if row.get("prompt") is not None:
        turns = [{"role": "user", "content": _string(row["prompt"], "prompt", origin)}]
        if row.get("response") is not None:
            turns.append({"role": "assistant", "content": _string(row["response"], "response", origin)})
        return Given(origin, messages=turns)
    if row.get("text") is not None:
        return Given(origin, text=_string(row["text"], "text", origin))
    raise DataError(f"{origin}: keys {sorted(map(str, row))}; {_EXPECTED}")


def _messages(value: Any, name: str, origin: str) -> list[dict[str, str]]:
    if not isinstance(value, list) or not value:
        raise DataError(f"{origin}: {name} is {_short(value)}; expected a list of at least one message")
    messages = [_message(message, i, origin) for i, message in enumerate(value)]
    if all(message["role"] != "user" for message in messages):
        raise DataError(f"{origin}: no message has the role user; there is nothing to answer")
    return messages


def _message(value: Any, number: int, origin: str) -> dict[str, str]:
    """A message of either spelling: role and content, or from and value."""
    role = content = None
    if isinstance(value, dict):
        shared = value.get("role") is None  # Parquet fills in the keys that a message does not have
        role = _SHARED_ROLES.get(str(value.get("from"))) if shared else value["role"]
        content = value.get("value") if shared else value.get("content")
    if role not in ROLES:
        raise DataError(f"{origin}: message {number} is {_short(value)}; expected a role out of {', '.join(ROLES)}, and content")
    if isinstance(content, list) and content and all(isinstance(part, dict) and part.get("type") == "text" for part in content):
        content = "".join(_string(part.get("text"), f"a part of message {number}", origin) for part in content)
    return {"role": role, "content": _string(content, f"content of message {number}", origin)}


def _string(value: Any, name: str, origin: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{origin}: {name} is {_short(value)}; expected a string that is not empty")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise DataError(f"{origin}: {name} holds half a character at place {error.start}; expected whole ones") from error
    return value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "..."
