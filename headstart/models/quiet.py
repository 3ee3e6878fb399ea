"""Loading without progress bars that tell nothing: those over local files."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from transformers.utils import logging

_bars: Any = logging  # its functions carry no types


@contextmanager
def no_progress_bars(when: bool = True) -> Iterator[None]:
    """Turn transformers' progress bars off for a while, and on again if they were on."""
    shown = _bars.is_progress_bar_enabled()
    if when:
        _bars.disable_progress_bar()
    try:
        yield
    finally:
        if when and shown:
            _bars.enable_progress_bar()
