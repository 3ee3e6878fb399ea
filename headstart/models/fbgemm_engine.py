"""Which library packs torch's quantised weights is a setting of the whole process; here it is FBGEMM for a moment."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def fbgemm() -> Iterator[None]:
    """While it holds, matrices are packed for FBGEMM. Raises RuntimeError where torch comes without it."""
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"
    try:
        yield
    finally:
        torch.backends.quantized.engine = before
