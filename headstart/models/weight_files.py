"""Safetensors files that are broken or cut off, told before anybody reads weights from them."""

import json
from pathlib import Path


def fault(path: Path) -> str | None:
    """What is wrong with a safetensors file; None if its header can be read and its length is what the header says.

    The format: 8 bytes (the header's length n, little-endian), n bytes of JSON, then the tensors' bytes.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if size < 8 or length > size - 8:
            return f"it breaks off after {size:,} bytes, before its header ends"
        try:
            header = json.loads(file.read(length))
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
        except (ValueError, KeyError, TypeError, AttributeError, IndexError):
            return "its header cannot be read"
    expected = 8 + length + max(ends, default=0)
    if size != expected:
        return f"it has {size:,} bytes instead of {expected:,}"
    return None


def directory_fault(directory: Path) -> tuple[Path, str] | None:
    """The first weight file of a model directory that is missing or broken, and what is wrong with it."""
    files = sorted(directory.glob("*.safetensors"))
    index = directory / "model.safetensors.index.json"
    if index.exists():
        try:
            names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (ValueError, KeyError, TypeError, AttributeError):
            return index, "it is not a readable index of weight files"
        files = [directory / name for name in sorted(names)]
    for path in files:
        if not path.exists():
            return path, "it is missing"
        if (wrong := fault(path)) is not None:
            return path, wrong
    return None
