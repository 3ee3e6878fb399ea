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
    static_steps: dict[int, int]
    """Steps that ``static`` stands on."""
    error: dict[int, float]
    """Standard error of ``grown``."""


def learn(seen: Observations, sizes: Sequence[int], *, groups: Sequence[int] | None = None) -> Learned:
    """Tree, calibration, and tokens per step for each size: each half of the texts by what the other half taught.

    ``groups`` numbers what each text belongs to, a conversation for instance, which stays in one half. A single text (or group) has
    no other half and is judged by what it taught itself; the error of a single text is unknown (NaN).
    """
    most, ranks = max(sizes), seen.log_q_EKR.shape[-1]
    groups = range(len(seen.lengths)) if groups is None else groups
    pairs = [(seen, seen)]
    if len(set(groups)) > 1:
        half = set(sorted(set(groups))[::2])
        first = seen.part([text for text, group in enumerate(groups) if group in half])
        second = seen.part([text for text, group in enumerate(groups) if group not in half])
        pairs = [(first, second), (second, first)]
    grown: dict[int, list[tuple[int, int]]] = {size: [] for size in sizes}
    static: dict[int, list[tuple[int, int]]] = {size: [] for size in sizes}
    for known, new in pairs:
        needed_grown = nodes_needed_grown(new, fit_calibration(known.log_q_EKR, known.rank_EK), most)
        needed_static = nodes_needed_static(new.rank_EK, ranks, grow(joint_counts(known.rank_EK, ranks), most))
        for size in sizes:
            grown[size] += replay(needed_grown, new.lengths, size)
            static[size] += replay(needed_static, new.lengths, size)
    counts = joint_counts(seen.rank_EK, ranks)
    return Learned(
        tree=grow(counts, most),
        counts=counts,
        total=len(seen.rank_EK),
        calibration=fit_calibration(seen.log_q_EKR, seen.rank_EK),
        grown={size: tokens_per_step(found) for size, found in grown.items()},
        static={size: tokens_per_step(found) for size, found in static.items()},
        static_steps={size: sum(steps for _, steps in found) for size, found in static.items()},
        error={size: standard_error(found) for size, found in grown.items()},
    )
