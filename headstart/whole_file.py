"""Files that are written whole or not at all, whenever the process or the machine dies."""

import os
from pathlib import Path


def write(path: Path, data: bytes) -> None:
    """Write beside ``path``, flush to the disk, rename.

    Raises:
        OSError: the disk is full or refuses; ``path`` is what it was before, and nothing lies beside it.
    """
    temporary = path.with_name(path.name + ".part")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())  # else a machine that dies may keep the new name without the data
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
