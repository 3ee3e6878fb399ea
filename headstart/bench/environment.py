"""Where, with what and when something was measured."""

import hashlib
import os
import platform
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import transformers

import headstart.version
from headstart.completion import PHASES, Stats
from headstart.engine.clock import Clock
from headstart.llm import LLM
from headstart.models.conditions import Conditions

_OUTSIDE = 2
"""Readings of the clock around a step's text."""
_SOURCES = Path(headstart.version.__file__).parent


def environment(llm: LLM) -> dict[str, Any]:
    """Machine, versions, threads and commit, with the CPU threads that torch is set to now."""
    return {
        **Conditions.of(llm.model).to_dict(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "transformers": transformers.__version__,
        "headstart": headstart.version.__version__,
        "commit": commit(_SOURCES),
        "code": code_mark(_SOURCES),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "clock_seconds": clock_seconds(),
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
    }


def commit(directory: Path) -> str | None:
    """The commit that the sources are at, "-dirty" behind it where they were changed; None where git does not know them."""
    try:
        described = subprocess.run(
            ["git", "-C", str(directory), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
            capture_output=True, text=True, timeout=10, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):  # no git here, which says as much
        return None
    return described.stdout.strip() or None


def code_mark(directory: Path) -> str:
    """Tells sources apart where git does not: changed ones, and installed ones."""
    mark = hashlib.sha256()
    for path in sorted(directory.rglob("*.py")):
        mark.update(f"{path.relative_to(directory).as_posix()}\0".encode() + path.read_bytes())
    return mark.hexdigest()[:16]


def clock_seconds(steps: int = 2000) -> float:
    """What measuring costs a step: reading the clock at the ends of all phases and writing down what was read."""
    stats = Stats()
    began = time.perf_counter()
    for _ in range(steps):
        clock = Clock()
        for phase in PHASES:
            clock.lap(phase)
        clock.charge(stats)
        for _ in range(_OUTSIDE):
            time.perf_counter()
    return (time.perf_counter() - began) / steps
