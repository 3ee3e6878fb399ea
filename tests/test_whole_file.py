"""A file is the old one or the new one, and nothing stays beside it."""

import os
from pathlib import Path

import pytest

from headstart import whole_file


def test_replaces_the_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "state"
    whole_file.write(path, b"one")
    whole_file.write(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_refuses_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    whole_file.write(path, b"old")

    def full(file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        whole_file.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_data_is_on_the_disk_before_it_has_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state"
    named: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda file: named.append(path.exists()))
    whole_file.write(path, b"one")
    assert named == [False]
