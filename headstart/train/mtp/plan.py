"""What a multi-token run was started with, so that one that is resumed does the same."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from headstart.train.digest import digest_of_plan
from headstart.train.run_directory import check_same_options, read_run_file, write_run_file

_FORMAT = 1


@dataclass(frozen=True)
class MtpPlan:
    """``OUTPUT/run/run.json``."""

    options: dict[str, Any]
    """Those that the result depends on."""
    given: str
    """Digest of the text's tokens and of the weights that the run began with, which files' and models' names do not tell."""
    compute: str
    """Format of the products, whatever was faster where the run began."""

    @property
    def digest(self) -> str:
        """What a checkpoint is known by: another for each other plan."""
        return digest_of_plan(asdict(self))

    def save(self, path: Path) -> None:
        write_run_file(path, _FORMAT, asdict(self))


def read_mtp_plan(path: Path, options: dict[str, Any]) -> MtpPlan:
    """The plan of the run that is to be resumed.

    Raises:
        TrainingError: there is none, it cannot be read, or it is of other options.
    """
    plan = read_run_file(path, _FORMAT, MtpPlan)
    check_same_options(path.parent, plan.options, options)
    return plan
