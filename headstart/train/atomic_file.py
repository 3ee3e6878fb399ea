"""The files of a run: whole or not at all, and where the disk refuses, what to do."""

from pathlib import Path

from headstart import whole_file
from headstart.errors import TrainingError


def write_atomically(path: Path, data: bytes) -> None:
    """As :func:`headstart.whole_file.write`.

    Raises:
        TrainingError: the disk is full or refuses; ``path`` is what it was before.
    """
    try:
        whole_file.write(path, data)
    except OSError as error:
        raise TrainingError(
            f"cannot write {path}: {error.strerror or error}. It needs {len(data) / 2**20:,.1f} MiB. Nothing that was finished"
            " before is lost: make room and run the same command with --resume"
        ) from error
