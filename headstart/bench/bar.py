"""What a run tells whoever waits for it."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol


class Bar(Protocol):
    """Shows how far the run is."""

    def advance(self, count: int, note: str = "") -> None:
        """``count`` more texts are done."""


Bars = Callable[[int, int], AbstractContextManager[Bar]]
"""Makes a bar of so many texts, some of which are done."""
