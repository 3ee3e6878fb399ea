import importlib.util
from pathlib import Path

import pytest

from headstart.errors import TrainingError
from headstart.train.tensorboard import Board, check_tensorboard


def test_curves_are_written_and_a_resumed_run_writes_on(tmp_path: Path) -> None:
    """The first run died after step 3, its checkpoint was at step 1: steps 2 and 3 are there once, from the second run."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    for start, steps in ((0, 3), (1, 4)):
        board = Board(tmp_path, step=start)
        for step in range(start + 1, steps + 1):
            board.step(step, loss=step + start, loss_K=[float(step), float("nan")], rate=0.5, norm=1.0)
        board.evaluation(steps, top_KT=[[0.5], [0.25]], score=1.5)
        board.close()
    read = accumulator.EventAccumulator(str(tmp_path)).Reload()
    assert [(event.step, event.value) for event in read.Scalars("loss/all")] == [(1, 1.0), (2, 3.0), (3, 4.0), (4, 5.0)]
    assert "loss/head 2" not in read.Tags()["scalars"]
    assert [event.value for event in read.Scalars("held out/top 1, head 2")] == [0.25]


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(TrainingError, match=r"pip install 'headstart\[tensorboard\]'"):
        check_tensorboard()
