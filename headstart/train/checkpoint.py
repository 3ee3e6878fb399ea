"""The state of a run on disk: heads, optimizer, best heads so far, and where it stands. Written whole or not at all."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from headstart.errors import TrainingError
from headstart.train.atomic_file import write_atomically
from headstart.train.loop import Trainer

_CACHE = "cache"


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
    tensors = {f"heads/{name}": tensor for name, tensor in trainer.heads.state_dict().items()}
    tensors |= {f"best/{name}": tensor for name, tensor in standing.best.items()}
    for index, state in trainer.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{index}/{name}": tensor for name, tensor in state.items()}
    where = {name: value for name, value in asdict(standing).items() if name != "best"}
    metadata = {"standing": json.dumps(where), "step": str(trainer.step), _CACHE: trainer.cache}
    write_atomically(path, safetensors.torch.save({k: v.detach().cpu().contiguous() for k, v in tensors.items()}, metadata))


def load_checkpoint(path: Path, trainer: Trainer) -> Standing:
    """Put heads, optimizer and step back; without a file nothing changes.

    Raises:
        TrainingError: the file is damaged, or belongs to other heads or to a run that has its states elsewhere.
    """
    if not path.exists():
        return Standing()
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (it is not a dict)
        if (cache := metadata.get(_CACHE, "disk")) != trainer.cache:
            raise TrainingError(
                f"checkpoint {path} was written with cache={cache!r} and this run has cache={trainer.cache!r}, which takes"
                " positions in another order. Delete it to train anew on the same data"
            )
        standing = Standing(**json.loads(metadata["standing"]), best=_under(tensors, "best/"))
        trainer.heads.load_state_dict(_under(tensors, "heads/"))
        state: dict[int, dict[str, Any]] = {}
        for name, tensor in _under(tensors, "optimizer/").items():
            index, key = name.split("/")
            state.setdefault(int(index), {})[key] = tensor
        trainer.optimizer.load_state_dict({**trainer.optimizer.state_dict(), "state": state})
        trainer.step = int(metadata["step"])
    except (OSError, SafetensorError, KeyError, ValueError, RuntimeError, TypeError) as error:
        raise TrainingError(f"checkpoint {path} cannot be used: {error}. Delete it to train anew on the same data") from error
    return standing


def _under(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
