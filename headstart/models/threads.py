"""How many CPU threads a pass takes, and how that is kept from the caller's own work.

More threads than physical cores slow a pass down: products already fill a core's arithmetic and its share of the memory, and
OpenMP's threads wait for each other at the end of every one of some hundred small products.
"""

import math
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import torch

_CPUS = Path("/sys/devices/system/cpu")
_CGROUPS = Path("/sys/fs/cgroup")


@contextmanager
def cpu_threads(threads: int | None = None) -> Iterator[int]:
    """Run the body with so many of torch's CPU threads (None: :func:`default_threads`) and put the caller's number back.

    Yields the number in use. torch keeps the number per Python thread, so that other threads of the caller see nothing of it.
    """
    before = torch.get_num_threads()
    wanted = default_threads() if threads is None else threads
    if wanted == before:
        yield wanted
        return
    torch.set_num_threads(wanted)
    try:
        yield wanted
    finally:
        torch.set_num_threads(before)


def default_threads() -> int:
    """As many as torch is set to use, but no more than there are physical cores for this process.

    So ``OMP_NUM_THREADS`` and the caller's ``torch.set_num_threads`` are followed downwards; upwards, ask for it by number.
    """
    cores = usable_cores()
    return torch.get_num_threads() if cores is None else min(torch.get_num_threads(), cores)


@lru_cache(maxsize=1)
def usable_cores() -> int | None:
    """Physical cores that this process may run on, container limits included; None where the system does not tell."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    cores, share = physical_cores(os.sched_getaffinity(0), _CPUS), cpu_share(_CGROUPS, _own_cgroup())
    # a share of 2.5 processors runs two threads all the time; a third would be stopped in the middle of products
    return cores if cores is None or share is None else max(1, min(cores, math.floor(share)))


def physical_cores(cpus: Collection[int], system: Path) -> int | None:
    """How many cores the logical processors ``cpus`` lie on; None where ``system`` does not say it of each of them."""
    siblings = set()
    for cpu in cpus:
        topology = system / f"cpu{cpu}" / "topology"
        names = [topology / name for name in ("core_cpus_list", "thread_siblings_list") if (topology / name).is_file()]
        if not names:
            return None
        siblings.add(names[0].read_text().strip())
    return len(siblings) or None


def cpu_share(root: Path, own: str) -> float | None:
    """Processors' worth of time that control groups allow, the tightest of the group and those around it; None is no limit."""
    group = root / own.strip("/")
    limits = []
    for folder in [group, *(parent for parent in group.parents if parent.is_relative_to(root))]:
        if (folder / "cpu.max").is_file():
            quota, period = (folder / "cpu.max").read_text().split()
            if quota != "max":
                limits.append(float(quota) / float(period))
    first = root / "cpu" / "cpu.cfs_quota_us"  # version 1 of control groups
    if first.is_file() and (quota_us := float(first.read_text())) > 0:
        limits.append(quota_us / float(first.with_name("cpu.cfs_period_us").read_text()))
    return min(limits) if limits else None


def _own_cgroup() -> str:
    file = Path("/proc/self/cgroup")
    lines = file.read_text().splitlines() if file.is_file() else []
    return next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "/")
