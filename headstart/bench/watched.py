"""What was seen beside the runs themselves: the environment, and the parts of a step. Kept, so that a report can be made again."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headstart.bench.result import DIGITS, write_whole
from headstart.bench.split import StepSplit
from headstart.errors import DataError
from headstart.finite import finite

WATCHED = "watched.json"


@dataclass(frozen=True)
class Watched:
    """As of the end of a run."""

    environment: Mapping[str, Any]
    splits: Mapping[str, StepSplit]
    """By contestant; see :func:`headstart.bench.split.step_split`."""

    def kept(self, directory: Path) -> "Watched":
        """Write the file; what reading it gives.

        Raises:
            DataError: it cannot be written.
        """
        splits = {name: asdict(split) for name, split in self.splits.items()}
        record = finite({"environment": self.environment, "splits": splits}, DIGITS)
        write_whole(directory / WATCHED, json.dumps(record).encode())
        return Watched(record["environment"], {name: StepSplit(**split) for name, split in record["splits"].items()})

    @classmethod
    def read(cls, directory: Path) -> "Watched | None":
        """None where there is no such file.

        Raises:
            DataError: it is broken.
        """
        path = directory / WATCHED
        if not path.is_file():
            return None
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(data["environment"], {name: StepSplit(**split) for name, split in data["splits"].items()})
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{path} is broken ({error}); delete it and run the same command again") from error
