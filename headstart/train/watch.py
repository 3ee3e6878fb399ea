"""What is seen of a run while it trains: its log, the live table and, where it is asked for, TensorBoard."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from headstart.train.live_table import LiveTable
from headstart.train.log import Log
from headstart.train.progress import Reporter
from headstart.train.tensorboard import Board


class Watch:
    """Steps count from 0, as in the log."""

    def __init__(self, log: Log, table: LiveTable, board: Board | None) -> None:
        self._log, self._table, self._board = log, table, board

    def step(
        self,
        step: int,
        positions: int,
        *,
        loss: float,
        loss_K: Sequence[float | None],
        rate: float,
        norm: float,
        **further: float,
    ) -> None:
        """A step over so many ``positions`` was done. A head that was not trained in it has no loss; ``further`` is for the log."""
        self._log.write("step", step=step, positions=positions, loss=loss, loss_K=loss_K, rate=rate, norm=norm, **further)
        self._table.step(loss_K, positions)
        if self._board is not None:
            self._board.step(step + 1, loss=loss, loss_K=loss_K, rate=rate, norm=norm)

    def evaluation(self, step: int, *, top_KT: Sequence[Sequence[float]], score: float, **further: Any) -> None:
        """Held-out accuracies after a step, and tokens per step at 8 nodes."""
        self._log.write("evaluation", step=step, score=score, top_KT=top_KT, **further)
        self._table.evaluated(top_KT, score)
        if self._board is not None:
            self._board.evaluation(step + 1, top_KT=top_KT, score=score)


@contextmanager
def watched(log: Log, reporter: Reporter, *, heads: int, steps: int, done: int, tensorboard: Path | None = None) -> Iterator[Watch]:
    """A run of ``steps`` of which some are ``done``; what the log knows of later ones is forgotten.

    ``tensorboard``: the folder of its files; None for none.
    """
    log.rewind(done)
    board = None if tensorboard is None else Board(tensorboard, step=done)
    with reporter.table(heads=heads, steps=steps, done=done) as table, closing(board) if board else nullcontext():
        yield Watch(log, table, board)
