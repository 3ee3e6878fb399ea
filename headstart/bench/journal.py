"""What has been measured so far, one batch a line, so that a run that is killed goes on where it was."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from headstart.bench.run import Run
from headstart.errors import DataError

JOURNAL = "runs.jsonl"
_FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A unit of the plan, done."""

    unit: str
    runs: dict[str, Run] = field(default_factory=dict)
    """By contestant, in the order in which they ran."""
    prompts: list[str] = field(default_factory=list)
    """Keys of the questions."""
    margins: dict[str, list[float | None]] = field(default_factory=dict)
    """By contestant, for each of its texts that is another than plain decoding's: how far apart the model's two likeliest tokens
    were where they part."""
    skipped: str = ""
    """Why nothing ran."""


class Journal:
    """The file in an output directory.

    Args:
        directory: made where it is missing.
        settings: what the run depends on; a journal of other settings is not gone on with.
        code: tells the sources apart that measure; see :meth:`require_same_code`.

    Raises:
        DataError: the directory cannot be written to, or its journal is of another run or broken.
    """

    def __init__(self, directory: Path, settings: Mapping[str, Any], code: str = "") -> None:
        self.path = directory / JOURNAL
        self.entries: dict[str, Entry] = {}
        self._code = self._begun_by = code
        header = json.loads(json.dumps({"format": _FORMAT, "settings": settings, "code": code}))
        try:
            directory.mkdir(parents=True, exist_ok=True)
            if not os.access(directory, os.W_OK):
                raise PermissionError(13, "no permission")
            if self.path.exists():
                self._read(header)
            else:
                self._append(header)
        except OSError as error:
            raise DataError(f"cannot write to {directory}: {error.strerror or error}; give another --output") from error

    def require_same_code(self) -> None:
        """Before more is measured: a report of old runs may be written by new sources, but their times must not be mixed.

        Raises:
            DataError: something was measured by other sources.
        """
        if self.entries and self._begun_by != self._code:
            raise DataError(
                f"{self.path.parent} holds the beginning of a run by other sources of Headstart ({self._begun_by or 'not marked'},"
                f" now {self._code}), and times of both would be mixed. Give another --output, or delete {self.path.name} there"
            )

    def add(self, entry: Entry) -> None:
        """Keep it, on the disk before this returns. Raises DataError where the disk refuses."""
        runs = {name: run.to_dict() for name, run in entry.runs.items()}
        self._append({**vars(entry), "runs": runs})
        # what a later run will read, so that both make the same result of it
        self.entries[entry.unit] = replace(entry, runs={name: Run.from_dict(run) for name, run in runs.items()})

    def _append(self, record: Mapping[str, Any]) -> None:
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise DataError(
                f"cannot write to {self.path}: {error.strerror or error}. Nothing that was measured is lost: make room and run"
                " the same command again"
            ) from error

    def _read(self, header: dict[str, Any]) -> None:
        raw = self.path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if len(whole) < len(raw):  # killed in the middle of a line
            with self.path.open("rb+") as file:
                file.truncate(len(whole))
        lines = whole.decode(errors="replace").split("\n")[:-1]  # what is no text is no JSON either
        if not lines:
            self._append(header)
            return
        try:
            found, *records = [json.loads(line) for line in lines]
            self._begun_by = found.pop("code", "") if isinstance(found, dict) else ""
            if found != {key: value for key, value in header.items() if key != "code"}:
                raise DataError(self._another(found, header))
            if not records:  # nothing to mix with
                self.path.unlink()
                self._append(header)
                self._begun_by = self._code
            for record in records:
                runs = {name: Run.from_dict(run) for name, run in record["runs"].items()}
                self.entries[record["unit"]] = Entry(**{**record, "runs": runs})
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            if isinstance(error, DataError):
                raise
            raise DataError(f"{self.path} is broken ({error}); delete it to measure again, or give another --output") from error

    def _another(self, found: Any, header: Mapping[str, Any]) -> str:
        theirs = found.get("settings", {}) if isinstance(found, dict) else {}
        mine = header["settings"]
        differ = [
            f"{key} is {mine.get(key)!r:.80}, was {theirs.get(key)!r:.80}"
            for key in sorted({*mine, *theirs})
            if mine.get(key) != theirs.get(key)
        ]
        return (
            f"{self.path.parent} holds another run: {'; '.join(differ) or 'its format is another'}. Give another --output, or"
            f" delete {self.path.name} there"
        )
