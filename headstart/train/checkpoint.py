"""The state of a run on disk: heads, optimizer, best heads so far, and where it stands."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from headstart.train.loop import Trainer
from headstart.train.saved_state import save_state, saved_state

_ADVICE = "Delete it to train anew on the same data"


@dataclass
class Standing:
    """Where a run stands, besides heads and optimizer."""

    best_score: float = float("-inf")
    best_step: int = 0
    without_gain: int = 0
    """Evaluations since the best one."""
    best: dict[str, torch.Tensor] = field(default_factory=dict)
    """The best heads' tensors."""

    def consider(self, trainer: Trainer, score: float) -> bool:
        """Take an evaluation into account; whether it is the best so far."""
        if score <= self.best_score:
            self.without_gain += 1
            return False
        self.best_score, self.best_step, self.without_gain = score, trainer.step, 0
        self.best = {name: tensor.detach().clone() for name, tensor in trainer.heads.state_dict().items()}
        return True


def save_checkpoint(path: Path, trainer: Trainer, standing: Standing) -> None:
    """Raises TrainingError if the disk is full; the checkpoint before is still there."""
    where = {name: value for name, value in asdict(standing).items() if name != "best"}
    save_state(
        path,
        {"heads": trainer.heads.state_dict(), "best": standing.best},
        trainer.optimizer,
        plan=trainer.plan.digest,
        metadata={"standing": json.dumps(where), "step": str(trainer.step)},
    )


def load_checkpoint(path: Path, trainer: Trainer) -> Standing:
    """Put heads, optimizer and step back; without a file nothing changes.

    Raises:
        TrainingError: the file is damaged or belongs to another run.
    """
    if not path.exists():
        return Standing()
    with saved_state(path, plan=trainer.plan.digest, advice=_ADVICE) as saved:
        standing = Standing(**json.loads(saved.metadata["standing"]), best=saved.group("best"))
        trainer.heads.load_state_dict(saved.group("heads"))
        saved.restore(trainer.optimizer)
        trainer.step = int(saved.metadata["step"])
    return standing
