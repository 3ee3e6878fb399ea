"""What observed texts teach about heads: a calibration, a static tree, and what trees of every size would give."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headstart.trees.calibration import Calibration
from headstart.trees.search import grow
from headstart.trees.shape import Path, TreeShape
from headstart.tuning.calibration import fit_calibration
from headstart.tuning.observe import Observations
from headstart.tuning.replay import (
    joint_counts,
    nodes_needed_grown,
    nodes_needed_static,
    replay,
    standard_error,
    tokens_per_step,
)


@dataclass(frozen=True, kw_only=True)
class Learned:
    """Made from all observed texts; what trees give was found on texts that they were not made from."""

    tree: TreeShape
    counts: Mapping[Path, int]
    total: int
    calibration: Calibration
    grown: dict[int, float]
    """Tokens per step by nodes, trees grown at each step; each half of the texts by the calibration of the other half."""
    static: dict[int, float]
    """The same with static trees."""
    error: dict[int, float]
    """Standard error of ``grown``."""


def learn(seen: Observations, sizes: Sequence[int]) -> Learned:
    """Tree, calibration, and tokens per step for each size: each half of the texts by what the other half taught.

    A single text has no other half and is judged by what it taught itself; its error is unknown (NaN).
    """
    most = max(sizes)
    texts = range(len(seen.lengths))
    pairs = [(seen, seen)]
    if len(texts) > 1:
        first, second = seen.part(texts[::2]), seen.part(texts[1::2])
        pairs = [(first, second), (second, first)]
    grown: dict[int, list[tuple[int, int]]] = {size: [] for size in sizes}
    static: dict[int, list[tuple[int, int]]] = {size: [] for size in sizes}
    for known, new in pairs:
        needed_grown = nodes_needed_grown(new, fit_calibration(known.log_q_EKR, known.rank_EK), most)
        needed_static = nodes_needed_static(new, grow(joint_counts(known), most))
        for size in sizes:
            grown[size] += replay(needed_grown, new.lengths, size)
            static[size] += replay(needed_static, new.lengths, size)
    counts = joint_counts(seen)
    return Learned(
        tree=grow(counts, most),
        counts=counts,
        total=len(seen.rank_EK),
        calibration=fit_calibration(seen.log_q_EKR, seen.rank_EK),
        grown={size: tokens_per_step(found) for size, found in grown.items()},
        static={size: tokens_per_step(found) for size, found in static.items()},
        error={size: standard_error(found) for size, found in grown.items()},
    )
