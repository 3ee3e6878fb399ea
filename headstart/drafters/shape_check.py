"""Tells whether heads can fill a static tree."""

from headstart.drafters.kinds import AnyConfig
from headstart.errors import TreeError
from headstart.trees.shape import TreeShape


def check_shape(tree: TreeShape, config: AnyConfig) -> None:
    """Raises TreeError if the tree is deeper than the heads or wider than their vocabulary."""
    if tree.depth > config.num_heads:
        raise TreeError(
            f"the tree is {tree.depth} deep, but there are {config.num_heads} heads; cut it with"
            f" tree.limited(depth={config.num_heads}) or train more heads"
        )
    if tree.width > config.projected_vocab:
        raise TreeError(
            f"the tree asks for guess number {tree.width} of a head that knows {config.projected_vocab} tokens; cut it with"
            f" tree.limited(width={config.projected_vocab})"
        )
