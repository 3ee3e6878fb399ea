import resource
from pathlib import Path

import pytest

from headstart.errors import TrainingError
from headstart.train.atomic_file import write_atomically


def test_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_fills_leaves_the_old_file_and_says_what_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_atomically(path, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # the kernel refuses to let a file grow beyond this, as it does on a full disk
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(TrainingError, match=r"needs 3\.0 MiB.*--resume"):
            write_atomically(path, bytes(3 << 20))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
