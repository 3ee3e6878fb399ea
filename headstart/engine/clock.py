"""Wall time of a step, by phase."""

import time

from headstart.completion import Stats


class Clock:
    """Laps from one moment on; whatever no lap has claimed is "other"."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.seconds: dict[str, float] = {}

    def lap(self, phase: str) -> None:
        """The time since the last lap belongs to ``phase``."""
        now = time.perf_counter()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now

    def charge(self, stats: Stats) -> None:
        """Add the laps to a request's statistics."""
        for phase, seconds in self.seconds.items():
            stats.seconds[phase] += seconds
