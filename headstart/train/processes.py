"""Several processes that train one set of heads: each takes its part of every step, and gradients are added up.

``accelerate launch``, ``torchrun`` and ``mpirun`` start them and say who is who in the environment. The first process does
everything else: it makes the data, evaluates, and is the only one that writes.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist

from headstart.errors import TrainingError

_PATIENCE = timedelta(days=7)
"""How long the others wait while the first one makes data."""
_COUNT = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE")
_RANK = ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK")
_LOCAL_RANK = ("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "MV2_COMM_WORLD_LOCAL_RANK")
"""What torchrun and the kinds of MPI say; accelerate starts CPU processes by the latter."""


@dataclass(frozen=True)
class Processes:
    """All of them, as one of them sees it; by default there is no other."""

    rank: int = 0
    count: int = 1

    @property
    def first(self) -> bool:
        return self.rank == 0

    def share(self, size: int) -> slice:
        """This process's part of ``size`` things; parts are as equal as can be, and follow one another."""
        return slice(size * self.rank // self.count, size * (self.rank + 1) // self.count)

    def add_up(self, tensors: Iterable[torch.Tensor]) -> None:
        """Replace tensors by their sums over all processes."""
        if self.count > 1:
            with _all_alive():
                for tensor in tensors:
                    dist.all_reduce(tensor)

    def told(self, value: bool) -> bool:
        """What the first process says; the others' ``value`` does not matter."""
        if self.count == 1:
            return value
        said = torch.tensor([int(value)], device="cuda" if dist.get_backend() == "nccl" else "cpu")
        with _all_alive():
            dist.broadcast(said, 0)
        return bool(said.item())

    def meet(self) -> None:
        """Wait until all are here."""
        if self.count > 1:
            with _all_alive():
                dist.barrier()

    def end(self) -> None:
        if self.count > 1:
            dist.destroy_process_group()


@contextmanager
def _all_alive() -> Iterator[None]:
    """Raises TrainingError instead of what the backend says when another process is gone."""
    try:
        yield
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        raise TrainingError(
            f"another of the run's processes has ended: {error}. What it printed says why; go on with --resume in all of them"
        ) from error


ALONE = Processes()


def check_alone(what: str) -> None:
    """Raises TrainingError if this process was started as one of several, which would write the same files. ``what`` they cannot
    do together: "heads are trained", say."""
    if (count := _told(_COUNT) or 1) > 1:
        raise TrainingError(
            f"{what} by one process, and this is one of {count} ({_name_of(_COUNT)}); start it without accelerate launch, torchrun"
            " or mpirun"
        )


def _told(names: Sequence[str]) -> int | None:
    name = _name_of(names)
    if name is None:
        return None
    try:
        return int(os.environ[name])
    except ValueError as error:
        raise TrainingError(f"{name} is {os.environ[name]!r}; expected a whole number, as launchers set it, or unset it") from error


def _name_of(names: Sequence[str]) -> str | None:
    return next((name for name in names if os.environ.get(name)), None)


def join(device: str) -> tuple[Processes, str]:
    """Find the other processes, if this one was started as one of several; and the device of this one.

    Raises:
        TrainingError: the environment is half set, or the processes do not find each other.
    """
    count = _told(_COUNT) or 1
    if count == 1:
        return ALONE, device
    rank = _told(_RANK)
    lacking = ["RANK"] if rank is None else []
    lacking += [name for name in ("MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if rank is None or lacking:
        raise TrainingError(
            f"{_name_of(_COUNT)} is {count}, but {', '.join(lacking)} is not set; start with accelerate launch or torchrun, or"
            f" unset {_name_of(_COUNT)}"
        )
    if device == "auto" and os.environ.get("ACCELERATE_USE_CPU", "").lower() in ("1", "true", "yes"):
        device = "cpu"
    on_cuda = device.startswith("cuda") or (device == "auto" and torch.cuda.is_available())
    if on_cuda:
        device = f"cuda:{_told(_LOCAL_RANK) or 0}"
        torch.cuda.set_device(device)
    try:
        dist.init_process_group("nccl" if on_cuda else "gloo", timeout=_PATIENCE, rank=rank, world_size=count)
    except (RuntimeError, ValueError) as error:
        raise TrainingError(
            f"{count} processes were announced, and they did not find each other at {os.environ['MASTER_ADDR']}:"
            f"{os.environ['MASTER_PORT']}: {error}"
        ) from error
    return Processes(dist.get_rank(), dist.get_world_size()), device
