"""What a run of tuning found out."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headstart.drafters.tree_file import TreeFile
from headstart.drafters.tuned import KEY, Tuned
from headstart.trees.step_table import StepTable
from headstart.tuning.latency import LatencyCurve
from headstart.tuning.learned import Learned
from headstart.tuning.verification import Verified

GROWN, STATIC = "medusa", "medusa-static"


@dataclass(frozen=True, kw_only=True)
class TuneResult:
    """The tree file to write, and what led to it."""

    tree_file: TreeFile
    tuned: Tuned
    learned: Learned
    curve: LatencyCurve
    verified: tuple[Verified, ...] = ()
    notes: tuple[str, ...] = ()
    """What the user should know: estimates that are not sure, batch sizes where nothing pays."""

    @property
    def table(self) -> StepTable:
        return self.tuned.table(GROWN)

    def with_verified(self, verified: Sequence[Verified]) -> "TuneResult":
        tuned = replace(self.tuned, verified=[each.to_dict() for each in verified])
        tree_file = replace(self.tree_file, predicted={**self.tree_file.predicted, KEY: tuned.to_dict()})
        return replace(self, tree_file=tree_file, tuned=tuned, verified=tuple(verified))
