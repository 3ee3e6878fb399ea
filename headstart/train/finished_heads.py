"""Trained heads with a tree of their own, ready to be saved."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from headstart.drafters.base_check import base_sample
from headstart.drafters.heads import MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.mtp_heads import MtpHeads
from headstart.models.protocol import BaseModel
from headstart.trees.calibration import Calibration
from headstart.trees.search import grow
from headstart.trees.shape import Path

_TREE_NODES, _COUNTS = 64, 512


def finished_heads(
    heads: MedusaHeads | MtpHeads,
    model: BaseModel,
    counts: Counter[Path],
    total: int,
    *,
    calibration: Calibration,
    nodes: int = 6,
    predicted: Mapping[str, Any] | None = None,
) -> HeadsDirectory:
    """With the static tree that ``counts`` make, how often the true continuation lay on each rank path among ``total`` positions.

    ``model`` is the one that the heads draft for; ``nodes`` of the tree are used where nobody says how many.
    """
    tree = grow(counts, _TREE_NODES)
    return HeadsDirectory(
        heads.cpu(),
        tree,
        nodes=min(nodes, len(tree)),
        base_check=base_sample(model),
        counts=dict(counts.most_common(_COUNTS)),
        total=total,
        calibration=calibration,
        predicted=dict(predicted or {}),
    )
