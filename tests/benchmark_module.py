"""Benchmarks as modules, for tests: they are scripts beside each other, no package."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

_BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@contextmanager
def benchmark_module(name: str) -> Iterator[ModuleType]:
    """The module ``benchmarks/NAME.py``, which finds what benchmarks share."""
    spec = importlib.util.spec_from_file_location(name, _BENCHMARKS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(_BENCHMARKS)
        spec.loader.exec_module(module)
        yield module
