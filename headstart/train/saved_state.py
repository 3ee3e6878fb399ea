"""What a run needs to go on, on disk: tensors in groups, an optimizer, and which run they are of. Written whole or not at all."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open

from headstart.errors import TrainingError
from headstart.train.atomic_file import write_atomically

_PLAN, _OPTIMIZER = "plan", "optimizer"


@dataclass(frozen=True)
class SavedState:
    """As it was read."""

    metadata: Mapping[str, str]
    tensors: Mapping[str, torch.Tensor]

    def group(self, name: str) -> dict[str, torch.Tensor]:
        """The tensors of a group, by their names in it."""
        prefix = f"{name}/"
        return {key.removeprefix(prefix): tensor for key, tensor in self.tensors.items() if key.startswith(prefix)}

    def restore(self, optimizer: torch.optim.Optimizer) -> None:
        """Put the optimizer's state back; its groups and rates stay as they are."""
        state: dict[int, dict[str, Any]] = {}
        for name, tensor in self.group(_OPTIMIZER).items():
            index, key = name.split("/")
            state.setdefault(int(index), {})[key] = tensor
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def save_state(
    path: Path,
    groups: Mapping[str, Mapping[str, torch.Tensor]],
    optimizer: torch.optim.Optimizer,
    *,
    plan: str,
    metadata: Mapping[str, str],
) -> None:
    """``plan``: the digest of the run's.

    Raises:
        TrainingError: the disk is full; what was saved before is still there.
    """
    tensors = {f"{group}/{name}": tensor for group, named in groups.items() for name, tensor in named.items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"{_OPTIMIZER}/{index}/{name}": tensor for name, tensor in state.items()}
    kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    write_atomically(path, safetensors.torch.save(kept, {**metadata, _PLAN: plan}))


@contextmanager
def saved_state(path: Path, *, plan: str, advice: str) -> Iterator[SavedState]:
    """What was saved, while it is put back.

    Raises:
        TrainingError: the file cannot be read; or it is damaged, of another run, or what it holds does not fit, and then this says
            ``advice``.
    """
    try:
        metadata, tensors = _read(path)
        if _PLAN not in metadata:
            raise TrainingError(f"checkpoint {path} is of an older version, which did not say what run it belongs to. {advice}")
        if metadata[_PLAN] != plan:
            raise TrainingError(
                f"checkpoint {path} is not of the run that run.json beside it describes: other options, answers or another model."
                f" {advice}"
            )
        yield SavedState(metadata, tensors)
    except torch.OutOfMemoryError:
        raise
    except (SafetensorError, KeyError, ValueError, RuntimeError, TypeError) as error:
        raise TrainingError(f"checkpoint {path} cannot be used: {error}. {advice}") from error


def _read(path: Path) -> tuple[dict[str, str], dict[str, torch.Tensor]]:
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118 (it is not a dict)
            return file.metadata() or {}, tensors
    except OSError as error:
        raise TrainingError(
            f"checkpoint {path} cannot be read: {error.strerror or error}. It may be whole; resume when it can be read"
        ) from error


def put_back(parameters: Mapping[str, torch.nn.Parameter], saved: Mapping[str, torch.Tensor]) -> None:
    """Raises KeyError or ValueError where names or shapes are others."""
    if saved.keys() != parameters.keys():
        raise KeyError(f"it holds {len(saved)} tensors of the model; expected {len(parameters)}")
    with torch.no_grad():
        for name, parameter in parameters.items():
            if saved[name].shape != parameter.shape:  # it would be broadcast
                raise ValueError(f"{name} has shape {list(saved[name].shape)}; expected {list(parameter.shape)}")
            parameter.copy_(saved[name])
