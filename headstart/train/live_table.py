"""What a person sees while heads are trained: each head's loss and accuracy, how fast it goes and how long it takes."""

import time
from collections.abc import Callable, Sequence

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table

from headstart.train.accuracy import shown

_SMOOTH = 0.95
_REFRESH = 2.0  # times a second


class LiveTable:
    """Loss and accuracy of each head. Shown on a terminal alone; elsewhere it only counts."""

    def __init__(
        self,
        console: Console | None,
        *,
        heads: int,
        steps: int,
        done: int,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._steps, self._done, self._clock = steps, done, clock
        self._begun, self._first, self._positions = clock(), done, 0
        self._sum_K, self._weight_K = [0.0] * heads, [0.0] * heads
        self._top_K1: Sequence[Sequence[float]] = []
        self._best: float | None = None
        shown = console is not None and console.is_terminal
        self._live = Live(console=console, get_renderable=self.view, refresh_per_second=_REFRESH, transient=True) if shown else None

    def __enter__(self) -> "LiveTable":
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def step(self, loss_K: Sequence[float | None], positions: int) -> None:
        """A step over ``positions`` was done; a head without a label in it has no loss (NaN), nor has one that was not trained."""
        self._done += 1
        self._positions += positions
        for k, loss in enumerate(loss_K):
            if loss is not None and loss == loss:
                self._sum_K[k] = _SMOOTH * self._sum_K[k] + (1 - _SMOOTH) * loss
                self._weight_K[k] = _SMOOTH * self._weight_K[k] + (1 - _SMOOTH)

    def evaluated(self, top_KT: Sequence[Sequence[float]], score: float) -> None:
        """Held-out accuracies among a head's first 1, 3, ... guesses, and predicted tokens per step, NaN where nobody knows."""
        self._top_K1 = top_KT
        if score == score:
            self._best = score if self._best is None else max(self._best, score)

    def view(self) -> Group:
        """All of it as it is now."""
        table = Table()
        for name in ("head", "loss, nats", "top 1", "top 3"):
            table.add_column(name, justify="right")
        for k, (total, weight) in enumerate(zip(self._sum_K, self._weight_K, strict=True)):
            accuracies = [shown(share) for share in self._top_K1[k][:2]] if self._top_K1 else ["", ""]
            table.add_row(str(k + 1), f"{total / weight:.3f}" if weight else "", *accuracies)
        return Group(self._summary(), table)

    def _summary(self) -> str:
        here, elapsed = self._done - self._first, max(1e-9, self._clock() - self._begun)
        parts = [f"step {self._done:,} of {self._steps:,}"]
        if here:
            left = elapsed / here * (self._steps - self._done)
            parts += [f"{self._positions / elapsed:,.0f} tokens/s", f"{_clock_time(left)} left"]
        if self._best is not None:
            parts.append(f"best {self._best:.2f} tokens per step at 8 nodes (held out, like the accuracies)")
        return "; ".join(parts)


def _clock_time(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
