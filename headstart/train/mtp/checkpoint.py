"""The state of a multi-token run on disk: model, heads, and the optimizer."""

from pathlib import Path

from headstart.train.mtp.trainer import MtpTrainer
from headstart.train.saved_state import put_back, save_state, saved_state

_ADVICE = "Delete it to train anew"


def save_checkpoint(path: Path, trainer: MtpTrainer, plan: str) -> None:
    """``plan``: the digest of the run's. Raises TrainingError if the disk is full; the checkpoint before is still there."""
    metadata = {"step": str(trainer.step), "operations": repr(trainer.operations)}
    save_state(path, {"parameters": trainer.named}, trainer.optimizer, plan=plan, metadata=metadata)


def load_checkpoint(path: Path, trainer: MtpTrainer, plan: str) -> None:
    """Put everything back; without a file nothing changes.

    Raises:
        TrainingError: the file is damaged or belongs to another run.
    """
    if not path.exists():
        return
    with saved_state(path, plan=plan, advice=_ADVICE) as saved:
        put_back(trainer.named, saved.group("parameters"))
        saved.restore(trainer.optimizer)
        trainer.step, trainer.operations = int(saved.metadata["step"]), float(saved.metadata["operations"])
