import resource
from pathlib import Path

import pytest

from headstart.errors import TrainingError
from headstart.train.log import Log
from headstart.train.plot import plot_losses


def test_a_resumed_run_forgets_what_came_after_its_checkpoint(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    for step in range(5):
        log.write("step", step=step, loss_K=[1.0])
    with log.path.open("a") as file:
        file.write('{"event": "st')  # the line at which the process was killed
    assert [entry["step"] for entry in log.entries()] == [0, 1, 2, 3, 4]
    log.rewind(3)
    log.write("step", step=3, loss_K=[1.0])
    assert [entry["step"] for entry in log.entries()] == [0, 1, 2, 3]


def test_every_line_is_json_to_any_reader(tmp_path: Path) -> None:
    """JSON knows no NaN, which many readers refuse."""
    log = Log(tmp_path / "log.jsonl")
    log.write("step", step=0, loss_K=[1.5, float("nan")], more={"a": float("inf"), "b": (2,)})
    assert log.path.read_text() == '{"event": "step", "step": 0, "loss_K": [1.5, null], "more": {"a": null, "b": [2]}}\n'


def test_a_full_disk_loses_nothing_of_a_log_that_is_rewound(tmp_path: Path) -> None:
    log = Log(tmp_path / "log.jsonl")
    for step in range(50):
        log.write("step", step=step, loss_K=[1.0])
    before, limits = log.path.read_text(), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(TrainingError, match="make room"):
            log.rewind(49)
        with pytest.raises(TrainingError, match="Make room"):
            log.write("step", step=50, loss_K=[1.0])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert log.path.read_text() == before


def test_a_plot_of_a_log_with_gaps(tmp_path: Path) -> None:
    """A head without labels has no loss in that step."""
    entries = [{"event": "step", "step": i, "loss_K": [2.0 - i, float("nan") if i else None]} for i in range(3)]
    evaluations = [{"event": "evaluation", "step": 2, "score": 1.5, "top_KT": [[0.5, 0.7], [0.2, 0.3]]}]
    evaluations.append({"event": "evaluation", "step": 3, "score": None, "top_KT": [[0.5, 0.7], [None, None]]})
    assert plot_losses([*entries, *evaluations], tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes()[:4] == b"\x89PNG"
    assert plot_losses([], tmp_path / "empty.png")
