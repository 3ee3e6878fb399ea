"""The state of a joint run on disk: what is trained, and the optimizer. Written whole or not at all."""

from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from headstart.errors import TrainingError
from headstart.train.atomic_file import write_atomically
from headstart.train.joint.trainer import JointTrainer


def save_checkpoint(path: Path, trainer: JointTrainer) -> None:
    """Raises TrainingError if the disk is full; the checkpoint before is still there."""
    tensors = {f"heads/{name}": tensor for name, tensor in trainer.heads.state_dict().items()}
    tensors |= {f"model/{name}": parameter for name, parameter in trainer.backbone.trained().items()}
    for index, state in trainer.optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer/{index}/{name}": tensor for name, tensor in state.items()}
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, safetensors.torch.save(kept, {"step": str(trainer.step)}))


def load_checkpoint(path: Path, trainer: JointTrainer) -> None:
    """Put everything back; without a file nothing changes.

    Raises:
        TrainingError: the file is damaged or belongs to another run.
    """
    if not path.exists():
        return
    try:
        with safe_open(path, framework="pt") as file:
            step = int((file.metadata() or {})["step"])
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (it is not a dict)
        trainer.heads.load_state_dict(_under(tensors, "heads/"))
        saved, trained = _under(tensors, "model/"), trainer.backbone.trained()
        if saved.keys() != trained.keys():
            raise KeyError(f"it holds {len(saved)} tensors of the model; expected {len(trained)}")
        with torch.no_grad():
            for name, parameter in trained.items():
                if saved[name].shape != parameter.shape:  # it would be broadcast
                    raise ValueError(f"{name} has shape {list(saved[name].shape)}; expected {list(parameter.shape)}")
                parameter.copy_(saved[name])
        state: dict[int, dict[str, Any]] = {}
        for name, tensor in _under(tensors, "optimizer/").items():
            index, key = name.split("/")
            state.setdefault(int(index), {})[key] = tensor
        trainer.optimizer.load_state_dict({**trainer.optimizer.state_dict(), "state": state})
        trainer.step = step
    except (OSError, SafetensorError, KeyError, ValueError, RuntimeError, TypeError) as error:
        raise TrainingError(f"checkpoint {path} cannot be used: {error}. Delete it to train anew") from error


def _under(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
