"""Where, with what and when something was measured."""

import os
import platform
import subprocess
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import transformers

import headstart.version
from headstart.llm import LLM
from headstart.models.conditions import Conditions

_READINGS = 9
"""Of the clock in a step, about: one a phase, and those around the step."""


def environment(llm: LLM) -> dict[str, Any]:
    """Machine, versions, threads and commit, with the CPU threads that torch is set to now."""
    return {
        **Conditions.of(llm.model).to_dict(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "transformers": transformers.__version__,
        "headstart": headstart.version.__version__,
        "commit": commit(Path(headstart.version.__file__).parent),
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


def clock_seconds(readings: int = 10_000) -> float:
    """What measuring costs a step: the clock's own time for all that is read in it."""
    began = time.perf_counter()
    for _ in range(readings):
        time.perf_counter()
    return (time.perf_counter() - began) / readings * _READINGS
