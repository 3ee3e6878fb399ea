"""The run's log: one JSON object a line. A resumed run forgets what came after its checkpoint."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headstart.errors import TrainingError
from headstart.finite import finite
from headstart.train.atomic_file import write_atomically


class Log:
    """Lines with a ``step`` belong to training; those of one event are told apart by ``event``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, event: str, **values: Any) -> None:
        """A number that is not finite becomes null: JSON has no other word for it.

        Raises:
            TrainingError: the disk is full.
        """
        try:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"event": event, **finite(values)}, allow_nan=False) + "\n")
        except OSError as error:
            raise TrainingError(
                f"cannot write {self.path}: {error.strerror or error}. Make room and run the same command with --resume"
            ) from error

    def entries(self) -> list[dict[str, Any]]:
        """All whole lines; a last one that a kill cut off is left out."""
        if not self.path.exists():
            return []
        entries = []
        for line in self.path.read_text(encoding="utf-8").split("\n"):
            try:
                entries.append(json.loads(line))
            except ValueError:
                continue  # the line that was being written when the process died; its step is done again
        return entries

    def rewind(self, step: int) -> None:
        """Forget everything logged about steps from ``step`` on."""
        kept: list[Mapping[str, Any]] = [entry for entry in self.entries() if entry.get("step", -1) < step]
        write_atomically(self.path, "".join(json.dumps(entry) + "\n" for entry in kept).encode())
