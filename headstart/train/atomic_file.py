"""Files that are written whole or not at all, whenever the process or the machine dies."""

import os
from pathlib import Path

from headstart.errors import TrainingError


def write_atomically(path: Path, data: bytes) -> None:
    """Write beside ``path``, flush to the disk, rename.

    Raises:
        TrainingError: the disk is full or refuses; ``path`` is what it was before.
    """
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise TrainingError(
            f"cannot write {path}: {error.strerror or error}. It needs {len(data) / 2**20:,.1f} MiB. Nothing that was finished"
            " before is lost: make room and run the same command with --resume"
        ) from error
