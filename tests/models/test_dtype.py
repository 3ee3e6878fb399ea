"""The number format and the place when nobody says."""

import pytest
import torch

from headstart.models import dtype as dtype_module
from headstart.models.dtype import has_bfloat16, resolve_device, resolve_dtype, training_dtype

CPU = torch.device("cpu")


@pytest.mark.parametrize(("fast", "expected"), [(True, torch.bfloat16), (False, torch.float32)])
def test_auto_follows_the_processor(fast: bool, expected: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dtype_module, "_cpu_has_bfloat16", lambda: fast)
    assert has_bfloat16(CPU) is fast
    assert resolve_dtype("auto", CPU) == expected


def test_names() -> None:
    assert (
        resolve_dtype("float32", CPU) == resolve_dtype("torch.float32", CPU) == resolve_dtype(torch.float32, CPU) == torch.float32
    )
    assert resolve_device("cpu") == resolve_device(CPU) == CPU
    assert resolve_device("auto").type in ("cpu", "cuda", "mps")


@pytest.mark.parametrize(
    ("bfloat16", "amx", "intel", "expected"),
    [
        (True, False, True, torch.float32),
        (True, True, True, torch.bfloat16),
        (True, False, False, torch.bfloat16),
        (False, False, False, torch.float32),
    ],
)
def test_training_computes_in_bfloat16_where_that_is_faster(
    bfloat16: bool, amx: bool, intel: bool, expected: torch.dtype, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: amx)
    monkeypatch.setattr(dtype_module, "_cpu_has_bfloat16", lambda: bfloat16)
    monkeypatch.setattr(dtype_module, "processor", lambda device: "Intel(R) Xeon(R)" if intel else "AMD EPYC")
    assert training_dtype(CPU) == expected
