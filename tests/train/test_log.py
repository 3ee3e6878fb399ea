from pathlib import Path

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


def test_a_plot_of_a_log_with_gaps(tmp_path: Path) -> None:
    """A head without labels has no loss in that step."""
    entries = [{"event": "step", "step": i, "loss_K": [2.0 - i, float("nan")]} for i in range(3)]
    assert plot_losses([*entries, {"event": "evaluation", "step": 2, "score": 1.5}], tmp_path / "loss.png")
    assert (tmp_path / "loss.png").read_bytes()[:4] == b"\x89PNG"
    assert plot_losses([], tmp_path / "empty.png")
