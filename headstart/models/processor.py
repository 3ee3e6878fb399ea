"""What the processor or accelerator of a device is called."""

import platform
from functools import lru_cache
from pathlib import Path

import torch


@lru_cache(maxsize=8)
def processor(device: torch.device) -> str:
    """What the device is called."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    table = Path("/proc/cpuinfo")
    lines = table.read_text(errors="replace").splitlines() if table.is_file() else []
    named = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "")
    return named or platform.processor() or platform.machine()
