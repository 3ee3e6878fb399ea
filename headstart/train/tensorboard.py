"""The run's curves for TensorBoard, where it is installed and asked for."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from headstart.errors import TrainingError


def check_tensorboard() -> None:
    """Raises TrainingError if TensorBoard is not installed; to be asked before a run and not hours later."""
    if importlib.util.find_spec("tensorboard") is None:
        raise TrainingError("--tensorboard was given, and tensorboard is not installed; pip install 'headstart[tensorboard]'")


class Board:
    """Writes what the log has, too. Steps count from 1; a resumed run hides what came after its checkpoint."""

    def __init__(self, directory: Path, *, step: int) -> None:
        """``step``: how many steps the run has done."""
        check_tensorboard()
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(directory), purge_step=step + 1)

    def step(self, step: int, *, loss: float, loss_K: Sequence[float | None], rate: float, norm: float) -> None:
        values = {"loss/all": loss, "train/learning rate": rate, "train/gradient norm": norm}
        values |= {f"loss/head {k + 1}": each for k, each in enumerate(loss_K) if each is not None and each == each}
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)

    def evaluation(self, step: int, *, top_KT: Sequence[Sequence[float]], score: float) -> None:
        if score == score:
            self._writer.add_scalar("held out/tokens per step, 8 nodes", score, step)
        for k, top_T in enumerate(top_KT):
            self._writer.add_scalar(f"held out/top 1, head {k + 1}", top_T[0], step)

    def close(self) -> None:
        self._writer.close()
