"""Which number format to load a model in when nobody says."""

from functools import lru_cache
from pathlib import Path

import torch

from headstart.errors import InvalidParameterError
from headstart.models.processor import processor

DTYPES: dict[str, torch.dtype] = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
    "float64": torch.float64,
}


def resolve_dtype(dtype: "str | torch.dtype", device: torch.device) -> torch.dtype:
    """The dtype by name, by itself, or for ``"auto"`` the fast one of the device: bfloat16 where it has it, else float32.

    Raises:
        InvalidParameterError: an unknown name, or a dtype that is not one of floating point.
    """
    if isinstance(dtype, torch.dtype):
        if not dtype.is_floating_point:
            raise InvalidParameterError(f"dtype is {dtype}; expected a floating-point one, for instance torch.bfloat16")
        return dtype
    if dtype == "auto":
        return torch.bfloat16 if has_bfloat16(device) else torch.float32
    name = dtype.removeprefix("torch.")
    if name not in DTYPES:
        raise InvalidParameterError(f"dtype is {dtype!r}; expected 'auto', {', '.join(map(repr, DTYPES))} or a torch.dtype")
    return DTYPES[name]


def dtype_name(dtype: torch.dtype) -> str:
    """What options and files call it: "bfloat16" for ``torch.bfloat16``."""
    return str(dtype).removeprefix("torch.")


def resolve_device(device: "str | torch.device") -> torch.device:
    """The device by name or by itself; ``"auto"`` is the first of CUDA, MPS and CPU that is there.

    Raises:
        InvalidParameterError: a malformed name, or a device that this machine does not have.
    """
    if device == "auto":
        kind = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        return torch.device(kind)
    try:
        resolved = torch.device(device)
    except RuntimeError as error:
        raise InvalidParameterError(f"device is {device!r}; expected 'auto', 'cpu', 'cuda', 'cuda:1' or 'mps'") from error
    if (resolved.type == "cuda" and not torch.cuda.is_available()) or (
        resolved.type == "mps" and not torch.backends.mps.is_available()
    ):
        raise InvalidParameterError(f"device is {device!r}, which torch does not find on this machine; 'auto' or 'cpu' will do")
    return resolved


def has_bfloat16(device: torch.device) -> bool:
    """Whether the device multiplies bfloat16 in hardware, so that it is faster than float32 and not emulated."""
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "mps":
        return True
    return device.type == "cpu" and _cpu_has_bfloat16()


def training_dtype(device: torch.device) -> torch.dtype:
    """The format that products of hundreds of rows are fastest in, as training makes them: their arithmetic counts, and not the
    bytes of the weights. Intel's AVX512-BF16 without AMX halves the bytes and has no more arithmetic than float32: a product of
    512 x 576 by 576 x 4,267 ran at 163 GFLOP/s in bfloat16 and at 285 in float32 on such a Xeon (torch 2.13, two threads)."""
    if device.type == "cpu" and not torch.cpu._is_amx_tile_supported() and "Intel" in processor(device):
        return torch.float32
    return torch.bfloat16 if has_bfloat16(device) else torch.float32


@lru_cache(maxsize=1)
def _cpu_has_bfloat16() -> bool:
    """AVX512-BF16 or AMX on x86, the BF16 extension on ARM."""
    if torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported():
        return True
    flags = Path("/proc/cpuinfo")  # torch does not tell for ARM
    return flags.exists() and any(
        line.startswith("Features") and "bf16" in line.split() for line in flags.read_text(errors="replace").splitlines()
    )
