"""Broken safetensors files are told from whole ones by their header alone."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from headstart.models.weight_files import directory_fault, fault


@pytest.fixture
def path(tmp_path: Path) -> Path:
    save_file({"a": torch.zeros(3), "b": torch.zeros(2, 2)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    return tmp_path / "model.safetensors"


def test_a_whole_file(path: Path) -> None:
    assert fault(path) is None
    assert directory_fault(path.parent) is None


def test_a_file_cut_in_its_tensors(path: Path) -> None:
    """Seven float32 numbers are 28 bytes; the last one goes."""
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-4])
    assert fault(path) == f"it has {size - 4:,} bytes instead of {size:,}"
    assert directory_fault(path.parent) == (path, f"it has {size - 4:,} bytes instead of {size:,}")


@pytest.mark.parametrize("kept", [0, 7, 8, 20])
def test_a_file_cut_in_its_header(kept: int, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:kept])
    assert fault(path) == f"it breaks off after {kept} bytes, before its header ends"


def test_a_header_that_is_no_json(path: Path) -> None:
    path.write_bytes((4).to_bytes(8, "little") + b"{{{{")
    assert fault(path) == "its header cannot be read"
    path.write_bytes((2).to_bytes(8, "little") + b"[]")
    assert fault(path) == "its header cannot be read"


def test_an_index_that_cannot_be_read(path: Path) -> None:
    index = path.parent / "model.safetensors.index.json"
    index.write_text("[]")
    assert directory_fault(path.parent) == (index, "it is not a readable index of weight files")
