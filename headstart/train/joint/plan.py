"""How many steps a joint run takes, decided once; a resumed run does the same."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headstart.errors import TrainingError
from headstart.train.atomic_file import write_atomically

_FORMAT = 3


@dataclass(frozen=True)
class JointPlan:
    """``OUTPUT/run/run.json``."""

    model: str
    options: dict[str, Any]
    steps: int
    given: str
    """Digests of the heads that it began with and of the recorded answers, which a directory's name does not tell."""
    compute: str
    """Format of the passes, whatever was faster where the run began."""

    def save(self, path: Path) -> None:
        write_atomically(path, (json.dumps({"format": _FORMAT, **asdict(self)}, indent=2) + "\n").encode())


def read_joint_plan(path: Path, model: str, options: dict[str, Any]) -> JointPlan:
    """The plan of the run that is to be resumed.

    Raises:
        TrainingError: there is none, it cannot be read, or it is of another model or other options.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if data.pop("format", None) != _FORMAT:
            raise TrainingError(f"{path} was written by another version; start anew in an empty directory")
        plan = JointPlan(**data)
    except FileNotFoundError as error:
        raise TrainingError(f"there is no run to resume: {path} is missing. Start one without --resume") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise TrainingError(f"{path} is malformed: {error}; start anew in an empty directory") from error
    now = json.loads(json.dumps({"model": model, **options}))
    before = {"model": plan.model, **plan.options}
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            raise TrainingError(
                f"the run in {path.parent} was started with {name}={before.get(name)!r}, not {now.get(name)!r}; resume it with the"
                " same"
            )
    return plan
