"""How many steps a joint run takes, decided once; a resumed run does the same."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headstart.train.digest import digest_of_plan
from headstart.train.run_directory import check_same_options, read_run_file, write_run_file

_FORMAT = 4


@dataclass(frozen=True)
class JointPlan:
    """``OUTPUT/run/run.json``."""

    model: str
    options: dict[str, Any]
    steps: int
    given: str
    """Digests of the model and the heads that it began with and of the recorded answers, which directories' names do not tell."""
    compute: str
    """Format of the passes, whatever was faster where the run began."""

    @property
    def digest(self) -> str:
        """What a checkpoint is known by: another for each other plan."""
        return digest_of_plan(asdict(self))

    def save(self, path: Path) -> None:
        write_run_file(path, _FORMAT, asdict(self))


def read_joint_plan(path: Path, model: str, options: dict[str, Any]) -> JointPlan:
    """The plan of the run that is to be resumed.

    Raises:
        TrainingError: there is none, it cannot be read, or it is of another model or other options.
    """
    plan = read_run_file(path, _FORMAT, JointPlan)
    check_same_options(path.parent, {"model": plan.model, **plan.options}, {"model": model, **options})
    return plan
