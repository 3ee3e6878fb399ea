"""How many guesses of a static tree are accepted, by ranks: what simulations are compared with.

Shapes: E examples, K heads.
"""

import torch

from headstart.train.simulation import WIDTH
from headstart.trees.shape import TreeShape
from headstart.tuning import replay


def accepted_in(shape: TreeShape, rank_EK: torch.Tensor) -> torch.Tensor:
    """At each example, E."""
    return (replay.nodes_needed_static(rank_EK, WIDTH, shape) <= len(shape)).sum(-1)
