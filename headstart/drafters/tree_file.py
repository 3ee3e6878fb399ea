"""``tree.json``: the tree that goes with a set of heads, and the counts it was grown from."""

import json
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any

from headstart import whole_file
from headstart.drafters.kinds import AnyConfig
from headstart.drafters.tuned import KEY, Tuned
from headstart.errors import HeadsError, TreeError
from headstart.finite import finite
from headstart.trees.calibration import Calibration
from headstart.trees.shape import Path, TreeShape

_FORMAT = 1
_KEYS = {"format", "paths", "nodes", "counts", "calibration", "predicted"}


@dataclass(frozen=True, kw_only=True)
class TreeFile:
    """A tree and what is known about it."""

    tree: TreeShape
    """Its paths are ordered by worth."""
    nodes: int
    """How many of them to use where nobody says, the root included."""
    counts: dict[Path, int] = field(default_factory=dict)
    """How often the true continuation lay on each rank path (also on paths outside the tree); empty if unknown."""
    total: int = 0
    """Positions observed for ``counts``."""
    calibration: Calibration | None = None
    """What the heads' probabilities are worth, for trees that are grown step by step; None takes them as they are."""
    predicted: dict[str, Any] = field(default_factory=dict)
    """What was measured or predicted, by name."""

    @property
    def tuned(self) -> Tuned | None:
        """What ``headstart tune`` measured; None where it never ran.

        Raises:
            HeadsError: it is malformed.
        """
        data = self.predicted.get(KEY)
        return None if data is None else Tuned.from_dict(data)

    def check(self, config: AnyConfig) -> None:
        """Raises HeadsError if the tree asks for more than the heads have, or ``nodes`` for more than the tree has."""
        if self.tree.depth > config.num_heads:
            raise HeadsError(
                f"the tree is {self.tree.depth} deep, but there are {config.num_heads} heads; leave out the deeper paths"
            )
        if self.tree.width > config.projected_vocab:
            raise HeadsError(
                f"the tree is {self.tree.width} wide, but a head knows {config.projected_vocab} tokens; leave out the higher ranks"
            )
        if self.calibration is not None and len(self.calibration.slope_K) != config.num_heads:
            raise HeadsError(f"the calibration is for {len(self.calibration.slope_K)} heads, but there are {config.num_heads}")
        if not 1 <= self.nodes <= len(self.tree):
            raise HeadsError(f"nodes is {self.nodes}; expected 1 to {len(self.tree)}, the size of the tree with its root")

    def to_json(self) -> str:
        """The file's text: one path a line, so that two trees can be compared by eye."""
        paths = ",\n    ".join(json.dumps(path) for path in self.tree.paths)
        rest = {
            "nodes": self.nodes,
            "counts": {"total": self.total, "paths": [[list(path), count] for path, count in self.counts.items()]},
            "calibration": None if self.calibration is None else self.calibration.to_dict(),
            "predicted": finite(self.predicted),
        }
        if not self.counts:
            rest["counts"] = None
        ends = ",\n".join(f'  "{key}": {json.dumps(value)}' for key, value in rest.items())
        return f'{{\n  "format": {_FORMAT},\n  "paths": [\n    {paths}\n  ],\n{ends}\n}}\n'

    def write(self, path: FilePath) -> None:
        """Put the file in place, whole or not at all.

        Raises:
            HeadsError: it cannot be written; what was there before is untouched.
        """
        try:
            whole_file.write(path, self.to_json().encode())
        except OSError as error:
            raise HeadsError(
                f"cannot write {path}: {error.strerror or error}. Make room, or choose another directory. What was there before is"
                " untouched"
            ) from error

    @classmethod
    def from_json(cls, text: str, where: str) -> "TreeFile":
        """Read the file's text. ``where`` names it in errors.

        Raises:
            HeadsError: it is malformed.
        """
        try:
            data = json.loads(text)
        except ValueError as error:
            raise HeadsError(f"{where} is not JSON: {error}; save the heads again") from error
        if not isinstance(data, dict) or data.get("format") != _FORMAT or not isinstance(data.get("paths"), list):
            raise HeadsError(f'{where} is no tree file; expected an object with "format": {_FORMAT} and a list "paths"')
        if unknown := sorted(set(data) - _KEYS):
            raise HeadsError(f"{where}: unknown keys {unknown}; expected some of {sorted(_KEYS)}")
        try:
            tree = TreeShape(data["paths"])
            table = data.get("counts") or {"total": 0, "paths": []}
            counts = {tuple(path): int(count) for path, count in table["paths"]}
            worth = data.get("calibration")
            calibration = None if worth is None else Calibration.from_dict(worth)
            nodes, total, predicted = int(data.get("nodes", len(tree))), int(table["total"]), dict(data.get("predicted") or {})
        except TreeError as error:
            raise HeadsError(f"{where}: {error}") from error
        except (TypeError, ValueError, KeyError) as error:
            raise HeadsError(f"{where} is malformed: {error!r}; save the heads again") from error
        return cls(tree=tree, nodes=nodes, counts=counts, total=total, calibration=calibration, predicted=predicted)
