"""Where a run lies, and ``run.json`` in it: what it was started with, which a resumed one has to be given again."""

import json
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from headstart.errors import TrainingError
from headstart.train.atomic_file import write_atomically

RUN_FILE = "run.json"
_ANEW = "start anew in an empty directory"
T = TypeVar("T")


def check_no_run(run: Path) -> None:
    """Raises TrainingError if there is a run already in ``run``."""
    if (run / RUN_FILE).exists():
        raise TrainingError(f"there is a run in {run} already; go on with it by --resume, or choose another output directory")


def make_output(run: Path) -> None:
    """Make the directory of a run that begins, in its output directory.

    Raises:
        TrainingError: a model lies in the output directory, or it cannot be made or written to.
    """
    if _is_model(run.parent):
        raise TrainingError(
            f"a model lies in {run.parent}, and what is trained would replace its files; choose another output directory"
        )
    try:
        run.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=run):
            pass
    except OSError as error:
        raise TrainingError(
            f"cannot write to {run}: {error.strerror or error}; choose an output directory that can be written to"
        ) from error


def _is_model(directory: Path) -> bool:
    try:
        config = json.loads((directory / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(config, dict) and "model_type" in config  # heads have none


def write_run_file(path: Path, version: int, values: Mapping[str, Any]) -> None:
    """Raises TrainingError if the disk is full."""
    write_atomically(path, (json.dumps({"format": version, **values}, indent=2) + "\n").encode())


def read_run_file(path: Path, version: int, plan: Callable[..., T]) -> T:
    """The plan that is made of what was written.

    Raises:
        TrainingError: there is none, it cannot be read, or it is of another version.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TrainingError(f"there is no run to resume: {path} is missing. Start one without --resume") from error
    except ValueError as error:
        raise TrainingError(f"{path} is not JSON: {error}; {_ANEW}") from error
    if not isinstance(data, dict) or data.pop("format", None) != version:
        raise TrainingError(f"{path} was written by another version; {_ANEW}")
    try:
        return plan(**data)
    except TypeError as error:
        raise TrainingError(f"{path} is malformed: {error}; {_ANEW}") from error


def check_same_options(
    where: Path, before: Mapping[str, Any], now: Mapping[str, Any], defaults: Mapping[str, Any] | None = None
) -> None:
    """Raises TrainingError where an option of the run in ``where`` is another now. What one of both does not know is what it is by
    default."""
    now, known = json.loads(json.dumps(now)), json.loads(json.dumps(defaults or {}))
    for name in sorted(before.keys() | now.keys()):
        then, given = (each.get(name, known.get(name)) for each in (before, now))
        if then != given:
            raise TrainingError(f"the run in {where} was started with {name}={then!r}, not {given!r}; resume it with the same")
