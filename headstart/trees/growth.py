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
        self, tokens_BKR: torch.Tensor, log_worth_BKR: torch.Tensor, roots_B: torch.Tensor, limits_B2: torch.Tensor
    ) -> CandidateTree:
        """The best tree for each row.

        Args:
            tokens_BKR: each depth's guesses, the most probable first.
            log_worth_BKR: the logarithm of the chance that the guess is right if the path before it is; at most 0, and not
                increasing along R.
            roots_B: the root ids.
            limits_B2: per row the largest number of nodes (root included) and the largest depth.

        Returns:
            Trees whose nodes are ordered by worth. A row with fewer nodes than the others is padded.
        """
        rows, ranks = log_worth_BKR.shape[0], log_worth_BKR.shape[2]
        place_S = self._place_S(ranks).to(log_worth_BKR.device)
        step_BS = log_worth_BKR.flatten(1)[:, place_S]
        worth_BS = self._along_paths(step_BS)
        depth_S, parent_S = self.shape.depth_tensor_N.to(roots_B.device), self.shape.parent_tensor_N.to(roots_B.device)
        worth_BS = worth_BS.masked_fill(depth_S > limits_B2[:, 1:], _NEVER)
        # stable: a child that is as probable as its parent stays behind it
        worth_BN, index_BN = (t[:, : self.nodes] for t in worth_BS.sort(dim=-1, descending=True, stable=True))
        nodes = index_BN.shape[1]
        left_out_BN = (torch.arange(nodes, device=roots_B.device) >= limits_B2[:, :1]) | (worth_BN == _NEVER)
        order_BS = torch.zeros_like(worth_BS, dtype=torch.int64)
        order_BS.scatter_(1, index_BN, torch.arange(nodes, device=roots_B.device).expand(rows, -1))
        parent_BN = order_BS.gather(1, parent_S[index_BN].clamp(min=0))
        parent_BN[:, 0] = -1
        tokens_BN = tokens_BKR.flatten(1).gather(1, place_S[index_BN])
        tokens_BN[:, 0] = roots_B
        depth_BN = depth_S[index_BN]
        ancestors_SS = self.shape.ancestors_NN.to(roots_B.device)
        ancestors_BNN = ancestors_SS[index_BN[:, :, None], index_BN[:, None, :]]
        if bool(left_out_BN.any()):
            itself_NN = torch.eye(nodes, dtype=torch.bool, device=roots_B.device)
            tokens_BN = tokens_BN.masked_fill(left_out_BN, PAD)
            parent_BN, depth_BN = parent_BN.masked_fill(left_out_BN, 0), depth_BN.masked_fill(left_out_BN, 0)
            ancestors_BNN = torch.where(left_out_BN[:, :, None] | left_out_BN[:, None, :], itself_NN, ancestors_BNN)
        return CandidateTree(tokens_BN, parent_BN, depth_BN, ancestors_BNN)

    def _place_S(self, ranks: int) -> torch.Tensor:
        """Where a path's last guess lies in the flattened K x R; the root's place is read and overwritten."""
        return torch.cat([torch.zeros(1, dtype=torch.int64), self.shape.head_E * ranks + self.shape.rank_E])

    def _along_paths(self, step_BS: torch.Tensor) -> torch.Tensor:
        """Sums of log worths from the root on, level by level, so that rounding never puts a child above its parent."""
        worth_BS = step_BS.clone()
        worth_BS[:, 0] = 0.0
        for level_M, parent_M in _levels(self.shape):
            worth_BS[:, level_M] += worth_BS[:, parent_M]
        return worth_BS


@lru_cache(maxsize=64)
def _levels(shape: TreeShape) -> tuple[tuple[torch.Tensor, torch.Tensor], ...]:
    """By depth from 2 on: the nodes there, and their parents."""
    levels = []
    for depth in range(2, shape.depth + 1):
        level_M = (shape.depth_tensor_N == depth).nonzero().squeeze(-1)
        levels.append((level_M, shape.parent_tensor_N[level_M]))
    return tuple(levels)


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
