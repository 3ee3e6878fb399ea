"""The finer parts of a step, from texts that are decoded under watch: shares only, the times come from unwatched ones."""

import cProfile
import pstats
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from headstart.bench.decoding import TEXT
from headstart.bench.run import Run
from headstart.tuning.pass_split import PassSplit

_WAITING = ("'item'", "'tolist'", "'cpu'", "synchronize")
_PHASE_OF_ROOM = {
    "drafters": "draft", "trees": "draft", "models": "verify", "acceptance": "accept", "sampling": "accept", "engine": "commit",
}  # fmt: skip
PARTS = (
    "drafting", "tree construction", "attention", "products", "small operations", "between operations", "verify", "acceptance",
    "commit", "synchronisation", "detokenisation", "other",
)  # fmt: skip
"""In the order of a step; "verify" is the pass where its operations could not be watched."""


@dataclass(frozen=True)
class StepSplit:
    """Shares of phases."""

    tree: float
    """Of drafting: what the trees' own modules took."""
    waiting: dict[str, float]
    """Of each phase: calls that fetch a result from the device and wait for it. On a CPU they copy and wait for nothing."""
    verify: dict[str, float]
    """Of the model's pass: attention, products, small operations, between operations; empty where that cannot be watched."""

    def divide(self, phases: Mapping[str, float]) -> dict[str, float]:
        """Seconds of a step by part; they add up to what was given."""
        left = dict(phases)
        waited = {phase: left[phase] * self.waiting.get(phase, 0.0) for phase in left}
        for phase, seconds in waited.items():
            left[phase] -= seconds
        draft, verify = left.pop("draft", 0.0), left.pop("verify", 0.0)
        shares = self.verify or {"verify": 1.0}
        found = {
            "drafting": draft * (1 - self.tree),
            "tree construction": draft * self.tree,
            **{part: verify * share for part, share in shares.items()},
            "acceptance": left.pop("accept", 0.0),
            "commit": left.pop("commit", 0.0),
            "synchronisation": sum(waited.values()),
            "detokenisation": left.pop(TEXT, 0.0),
            "other": sum(left.values()),
        }
        return {part: found[part] for part in PARTS if part in found}


def step_split(decode: Callable[[], Run], verify: PassSplit | None) -> StepSplit:
    """Watch one run. Watching makes everything written in Python longer, drafting and the trees alike, so shares stay about right.

    ``verify`` is how a pass of that many nodes divides up, if it is known.
    """
    profile = cProfile.Profile()
    run = profile.runcall(decode)
    tree, waiting = 0.0, dict.fromkeys(_PHASE_OF_ROOM.values(), 0.0)
    entries: Any = pstats.Stats(profile).stats  # type: ignore[attr-defined]  # typeshed leaves it out
    for (file, _, function), (_, _, _, _, callers) in entries.items():
        waits = any(word in function for word in _WAITING)
        for (caller, _, _), (_, _, _, total) in callers.items():
            if waits and (phase := _PHASE_OF_ROOM.get(_room(caller))) is not None:
                waiting[phase] += total
            if _room(file) == "trees" and _room(caller) in ("drafters", "engine"):
                tree += total
    shares = {phase: min(1.0, seconds / run.phases[phase]) for phase, seconds in waiting.items() if run.phases.get(phase)}
    draft = run.phases.get("draft", 0.0)
    return StepSplit(min(1.0, tree / draft) if draft else 0.0, shares, {} if verify is None else _shares(verify))


def _shares(split: PassSplit) -> dict[str, float]:
    parts = {
        "attention": split.attention,
        "products": split.products,
        "small operations": split.small,
        "between operations": split.between,
    }
    return {part: seconds / split.total for part, seconds in parts.items()}


def _room(file: str) -> str:
    """The room of the package that a source file is in; empty for others' files."""
    parts = PurePath(file).parts
    places = [i for i, part in enumerate(parts[:-2]) if part == "headstart"]
    return parts[places[-1] + 1] if places else ""
