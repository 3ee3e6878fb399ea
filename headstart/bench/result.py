"""The result as a file: one JSON object of a known version."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart import whole_file
from headstart.errors import DataError

SCHEMA_VERSION = 1
RESULT = "result.json"
KEYS = ("schema_version", "latency", "acceptance", "overhead", "cost", "quality", "environment", "verdict")
_LISTS = (
    ("latency", "settings"),
    ("acceptance", "settings"),
    ("overhead", "settings"),
    ("cost", "settings"),
    ("quality", "equality"),
)
DIGITS = 6
"""Of the numbers in the file."""


def write_whole(path: Path, data: bytes) -> None:
    """As :func:`headstart.whole_file.write`.

    Raises:
        DataError: it cannot be written; what was there before is untouched.
    """
    try:
        whole_file.write(path, data)
    except OSError as error:
        raise DataError(f"cannot write {path}: {error.strerror or error}; what was measured is kept beside it") from error


def write_result(result: Mapping[str, Any], path: Path) -> None:
    """As :func:`write_whole`."""
    write_whole(path, (json.dumps(result, indent=1, allow_nan=False) + "\n").encode())


def read_result(path: Path) -> dict[str, Any]:
    """A result file, or the one in a directory.

    Raises:
        DataError: it cannot be read, is of another version, or is no result.
    """
    path = path / RESULT if path.is_dir() else path
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}; expected a {RESULT} of headstart bench") from error
    except ValueError as error:
        raise DataError(f"{path} is not JSON ({error}); expected a {RESULT} of headstart bench") from error
    if not isinstance(data, dict) or "schema_version" not in data:
        raise DataError(f"{path} is no result of headstart bench: it has no schema_version")
    if data["schema_version"] != SCHEMA_VERSION:
        raise DataError(f"{path} has schema version {data['schema_version']!r}; expected {SCHEMA_VERSION}. Measure again")
    absent = [key for key in KEYS if key not in data]
    if absent:
        raise DataError(f"{path} lacks {', '.join(absent)}; expected the keys {', '.join(KEYS)}. Measure again")
    for section, name in _LISTS:
        rows = data[section].get(name) if isinstance(data[section], dict) else None
        heads = ("label", "temperature", "batch", "contestants")
        if not isinstance(rows, list) or not all(isinstance(row, dict) and all(head in row for head in heads) for row in rows):
            raise DataError(f"{path}: {section}.{name} is no list of settings; expected {', '.join(heads)} in each. Measure again")
    return data
