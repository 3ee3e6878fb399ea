"""What a processor is called."""

from pathlib import Path

import torch

from headstart.models.processor import processor


def test_a_processor_is_never_nameless() -> None:
    """On Linux it is the kernel's name for it, where the kernel has one; every other system has some word for its machine."""
    name = processor(torch.device("cpu"))
    assert name
    table = Path("/proc/cpuinfo")
    if table.is_file() and "model name" in (text := table.read_text(errors="replace")):
        assert f": {name}\n" in text
