"""The state of a joint run on disk: what is trained, and the optimizer."""

from pathlib import Path

from headstart.train.joint.trainer import JointTrainer
from headstart.train.saved_state import put_back, save_state, saved_state

_ADVICE = "Delete it to train anew"


def save_checkpoint(path: Path, trainer: JointTrainer, plan: str) -> None:
    """``plan``: the digest of the run's. Raises TrainingError if the disk is full; the checkpoint before is still there."""
    groups = {"heads": trainer.heads.state_dict(), "model": trainer.backbone.trained()}
    save_state(path, groups, trainer.optimizer, plan=plan, metadata={"step": str(trainer.step)})


def load_checkpoint(path: Path, trainer: JointTrainer, plan: str) -> None:
    """Put everything back; without a file nothing changes.

    Raises:
        TrainingError: the file is damaged or belongs to another run.
    """
    if not path.exists():
        return
    with saved_state(path, plan=plan, advice=_ADVICE) as saved:
        trainer.heads.load_state_dict(saved.group("heads"))
        put_back(trainer.backbone.trained(), saved.group("model"))
        saved.restore(trainer.optimizer)
        trainer.step = int(saved.metadata["step"])
