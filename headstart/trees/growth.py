"""Dynamic trees: each step the drafter's own probabilities decide which rank paths are worth a node.

A drafter whose guesses at a depth do not depend on the guesses before them (Medusa heads) gives one ranked list of
probabilities per depth, so that a path's worth is the product along it. The best tree of n nodes is then the n - 1 paths with
the largest products. Every path of it lies in a fixed set, the envelope, that depends on n alone: growing a tree is one
sort over the envelope, for all rows at once.

Shapes: B rows, K depths, R ranks, S paths of the envelope with the root first, N nodes with the root first.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch

from headstart.errors import TreeError
from headstart.trees.candidate import PAD, CandidateTree
from headstart.trees.shape import Path, TreeShape

LARGEST = 256
"""Nodes of a grown tree at most: beyond that the envelope takes longer to sort than the guesses are worth."""
WIDEST = 16
"""Guesses of one depth that are looked at."""
_NEVER = float("-inf")


@dataclass(frozen=True)
class Envelope:
    """Every rank path that a grown tree of ``nodes`` nodes can hold, whatever the probabilities."""

    shape: TreeShape
    """The paths; whatever has to be in a tree before a path comes before it."""
    nodes: int

    @classmethod
    def of(cls, nodes: int, depth: int, width: int) -> "Envelope":
        """The envelope of trees of at most ``nodes`` nodes (root included), ``depth`` deep and ``width`` wide.

        A path is at most as probable as each path with lower or equal ranks and lower or equal length. It can be among the
        best n - 1 paths only if there are no more than n - 1 of those, itself included.
        """
        if not 1 <= nodes <= LARGEST:
            raise TreeError(f"a grown tree of {nodes} nodes was asked for; expected 1, the root, to {LARGEST}")
        return _envelope(nodes, depth, width)

    def grow(
        self, tokens_BKR: torch.Tensor, log_worth_BKR: torch.Tensor, roots_B: torch.Tensor, limits_B2: torch.Tensor | None = None
    ) -> CandidateTree:
        """The best tree for each row.

        Args:
            tokens_BKR: each depth's guesses, the most probable first.
            log_worth_BKR: the logarithm of the chance that the guess is right if the path before it is; at most 0, and not
                increasing along R. A guess whose worth is no number comes last.
            roots_B: the root ids.
            limits_B2: per row the largest number of nodes (root included) and the largest depth; None sets none but the envelope's.

        Returns:
            Trees whose nodes are ordered by worth. A row with fewer nodes than the others is padded.
        """
        rows, depths, ranks = log_worth_BKR.shape
        at = _lookup(self.shape, depths, ranks, str(roots_B.device))
        step_BX = torch.cat([log_worth_BKR.reshape(rows, -1), log_worth_BKR.new_zeros(rows, 1)], 1)
        # whatever order the sum takes, it takes it for all paths: rounding never puts a child above its parent
        worth_BS = step_BX[:, at.along_SK].sum(-1)
        # what is no number would be sorted before the root, which has to be the first node whatever the heads say
        worth_BS = worth_BS.masked_fill(worth_BS.isnan(), _NEVER)
        if limits_B2 is not None:
            worth_BS = worth_BS.masked_fill(at.depth_S > limits_B2[:, 1:], _NEVER)
        # stable: a child that is as probable as its parent stays behind it
        worth_BS, order_BS = worth_BS.sort(dim=-1, descending=True, stable=True)
        index_BN = order_BS[:, : self.nodes]
        nodes = index_BN.shape[1]
        place_BS = torch.empty_like(order_BS).scatter_(1, order_BS, at.places_S.expand(rows, -1))
        parent_BN = place_BS.gather(1, at.parent_S[index_BN])
        tokens_BN = tokens_BKR.reshape(rows, -1).gather(1, at.guess_S[index_BN])
        parent_BN[:, 0] = -1
        tokens_BN[:, 0] = roots_B
        depth_BN = at.depth_S[index_BN]
        ancestors_BNN = at.ancestors_SS[index_BN[:, :, None], index_BN[:, None, :]]
        if limits_B2 is not None:
            left_out_BN = (at.places_S[:nodes] >= limits_B2[:, :1]) | (worth_BS[:, :nodes] == _NEVER)
            itself_NN = torch.eye(nodes, dtype=torch.bool, device=roots_B.device)
            tokens_BN = tokens_BN.masked_fill(left_out_BN, PAD)
            parent_BN, depth_BN = parent_BN.masked_fill(left_out_BN, 0), depth_BN.masked_fill(left_out_BN, 0)
            ancestors_BNN = torch.where(left_out_BN[:, :, None] | left_out_BN[:, None, :], itself_NN, ancestors_BNN)
        return CandidateTree(tokens_BN, parent_BN, depth_BN, ancestors_BNN)


@dataclass(frozen=True)
class _Lookup:
    """What is known of an envelope's paths before any probability is, on one device."""

    along_SK: torch.Tensor
    """Where the log worths along a path lie in the flattened K x R; the place behind the last one holds 0."""
    guess_S: torch.Tensor
    """Where a path's last guess lies there; 0 for the root."""
    parent_S: torch.Tensor
    """0 for the root as well."""
    depth_S: torch.Tensor
    ancestors_SS: torch.Tensor
    places_S: torch.Tensor
    """0, 1, 2, ..."""


@lru_cache(maxsize=256)
def _lookup(shape: TreeShape, depths: int, ranks: int, device: str) -> _Lookup:
    nothing = depths * ranks
    along = [[k * ranks + rank for k, rank in enumerate(path)] + [nothing] * (depths - len(path)) for path in ((), *shape.paths)]
    guess = [0, *((len(path) - 1) * ranks + path[-1] for path in shape.paths)]
    return _Lookup(
        along_SK=torch.tensor(along, device=device),
        guess_S=torch.tensor(guess, device=device),
        parent_S=shape.parent_tensor_N.clamp(min=0).to(device),
        depth_S=shape.depth_tensor_N.to(device),
        ancestors_SS=shape.ancestors_NN.to(device),
        places_S=torch.arange(len(shape), device=device),
    )


@lru_cache(maxsize=64)
def _envelope(nodes: int, depth: int, width: int) -> Envelope:
    found: list[tuple[int, int, Path]] = []
    open_paths: list[tuple[Path, int, int]] = [((), 1, 0)]
    while open_paths:
        path, last, all_before = open_paths.pop()
        if len(path) == depth:
            continue
        for rank in range(width):
            same_length = last * (rank + 1)
            if all_before + same_length > nodes - 1:
                break
            child = (*path, rank)
            found.append((all_before + same_length, len(child), child))
            open_paths.append((child, same_length, all_before + same_length))
    return Envelope(TreeShape(path for _, _, path in sorted(found)), nodes)
