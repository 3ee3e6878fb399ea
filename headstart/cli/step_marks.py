"""Shows which tokens came in one step: by two colours in turn, or by dots where colours are not to be had."""

import os
from typing import TextIO

COLOURS = ("\x1b[36m", "\x1b[33m")  # cyan and yellow: told apart by most who do not see red and green apart
PLAIN = "\x1b[0m"
DOT = "\N{MIDDLE DOT}"


class StepMarks:
    """Writes a text step by step. Colours are left out where ``stream`` is no terminal or NO_COLOR is set."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.coloured = stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self._steps = 0

    def write(self, text: str) -> None:
        """What one step added; nothing to see where it added no whole character yet."""
        if text and self.coloured:
            self._stream.write(f"{COLOURS[self._steps % 2]}{text}{PLAIN}")
        elif text:
            self._stream.write(f"{DOT}{text}" if self._steps else text)
        self._stream.flush()
        self._steps += 1

    @property
    def legend(self) -> str:
        """How to read it."""
        return "the colour changes with each step" if self.coloured else f"{DOT} stands between steps"
