"""Reads JSON lines: what a person wrote, so that every complaint names file and line."""

import json
from typing import Any, Protocol

from headstart.errors import DataError


class Source(Protocol):
    """A path, or a file that lies in the package."""

    def read_text(self, encoding: str) -> str: ...


def read_lines(source: Source, what: str, where: str, expected: str) -> list[tuple[str, str]]:
    """The lines that are not blank, each with the place that it stands at, ``where:number``. ``what``: "prompts in", say.

    Raises:
        DataError: the file cannot be read or is no UTF-8.
    """
    try:
        lines = source.read_text(encoding="utf-8-sig").split("\n")  # not splitlines: U+2028 is text
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{what} {where} cannot be read: {error}; expected {expected}") from error
    return [(f"{where}:{number}", line) for number, line in enumerate(lines, 1) if line.strip()]


def json_object(line: str, origin: str, expected: str) -> dict[str, Any]:
    """The object that a line holds; raises DataError, which begins with ``origin``, where it holds none."""
    try:
        row = json.loads(line)
    except ValueError as error:
        raise DataError(f"{origin}: not JSON ({error}){_of_array(line)}; {expected}") from error
    if not isinstance(row, dict):
        raise DataError(f"{origin}: a JSON {type(row).__name__}{_of_array(line)}; {expected}")
    return row


def _of_array(line: str) -> str:
    return "; an array has to become an object on each line" if line.lstrip().startswith("[") else ""
