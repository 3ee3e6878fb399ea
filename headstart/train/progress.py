"""Progress on stderr: bars where a person looks, lines where a file does."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from headstart.train.live_table import LiveTable


class Bar:
    """One running bar."""

    def __init__(self, progress: Progress | None, total: int | None, unit: str) -> None:
        self._progress = progress
        self._task = progress.add_task(unit, total=total, note="") if progress else None

    def advance(self, count: int, note: str = "") -> None:
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, advance=count, note=note)


class Reporter:
    """Tells what a run does."""

    def __init__(self, *, quiet: bool) -> None:
        self._console = None if quiet else Console(stderr=True)

    def say(self, text: str) -> None:
        if self._console is not None:
            self._console.print(text, highlight=False, soft_wrap=True)

    def table(self, *, heads: int, steps: int, done: int) -> LiveTable:
        """A table of the heads in training."""
        return LiveTable(self._console, heads=heads, steps=steps, done=done)

    @contextmanager
    def bar(self, unit: str, total: int | None, done: int = 0) -> Iterator[Bar]:
        """A bar of ``total`` units, None where nobody knows how many there will be; it only moves on a terminal."""
        if self._console is None:
            yield Bar(None, total, unit)
            return
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=self._console, disable=not self._console.is_terminal) as progress:
            bar = Bar(progress, total, unit)
            bar.advance(done)
            yield bar
