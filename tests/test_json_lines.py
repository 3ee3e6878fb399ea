"""JSON lines, and complaints about them that name the place."""

from pathlib import Path

import pytest

from headstart.errors import DataError
from headstart.json_lines import json_object, read_lines


def test_lines_and_their_places(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"a": "one\u2028line"}\n\n  \n{"b": 2}', encoding="utf-8")
    assert read_lines(path, "rows in", "here", "rows") == [("here:1", '{"a": "one\u2028line"}'), ("here:4", '{"b": 2}')]
    with pytest.raises(DataError, match=r"^the rows in nowhere cannot be read: .*; expected a file$"):
        read_lines(tmp_path / "missing", "the rows in", "nowhere", "a file")
    path.write_bytes(b"\xff\n")
    with pytest.raises(DataError, match="can't decode"):
        read_lines(path, "rows in", "here", "rows")


def test_objects() -> None:
    assert json_object('{"a": [1]}', "here:1", "an object") == {"a": [1]}
    with pytest.raises(DataError, match=r"^here:1: not JSON \(.*\); an object$"):
        json_object("{", "here:1", "an object")
    with pytest.raises(DataError, match=r"^here:1: a JSON list; an array has to become an object on each line; an object$"):
        json_object("[1]", "here:1", "an object")
