"""Dynamic trees from guesses that depend on the whole path before them, grown level by level.

All open nodes of a level are asked about at once, for all rows: a node is open if a child of it can still be in the tree. That is
so while it is among the best n - 1 nodes found so far, since a child is worth at most as much as its parent. The tree that
comes out is the best one, as if every node had been asked.

Source: EAGLE-2 (Li et al. 2024), section 4, which expands the best few of each level; here the bound says how many.

Shapes: B rows, M open nodes of all rows together, O open nodes of a row (padded), R ranks, S nodes found so far with the root
first, N nodes of the tree with the root first, k tokens of a path.
"""

from collections.abc import Sequence

import torch

from headstart.trees.candidate import PAD, CandidateTree

_NEVER = float("-inf")


class LevelGrowth:
    """One step's trees while they grow. Alternate :attr:`open_paths` and :meth:`extend` until nothing is open.

    Args:
        roots_B: the root ids.
        limits: per row the largest number of nodes (root included) and the largest depth.
        least: the log of a chance; a node with a smaller one stays a leaf.
    """

    def __init__(self, roots_B: torch.Tensor, limits: Sequence[tuple[int, int]], *, least: float = _NEVER) -> None:
        rows, device = len(roots_B), roots_B.device
        self._nodes = max((nodes for nodes, _ in limits), default=1)
        self._limits_B2 = torch.tensor(list(limits), dtype=torch.int64, device=device).view(rows, 2)
        self._level, self._least = 0, least
        self._tokens_BS = roots_B[:, None]
        self._worth_BS = torch.zeros(rows, 1, device=device)
        self._parent_BS = torch.full((rows, 1), -1, dtype=torch.int64, device=device)
        self._depth_S = torch.zeros(1, dtype=torch.int64, device=device)
        self._open_BO = torch.zeros(rows, 1, dtype=torch.int64, device=device)
        self._path_BOk = torch.zeros(rows, 1, 0, dtype=torch.int64, device=device)
        self._is_open_BO = (self._limits_B2[:, :1] > 1) & (self._limits_B2[:, 1:] > 0)

    @property
    def has_open(self) -> bool:
        return bool(self._is_open_BO.any())

    @property
    def ranks(self) -> int:
        """How many guesses of a node can be in a tree at most."""
        return self._nodes - 1

    def open_paths(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The row of each open node, M, and the ids on its path below the root, M x k."""
        return self._is_open_BO.nonzero()[:, 0], self._path_BOk[self._is_open_BO]

    def extend(self, tokens_MR: torch.Tensor, log_worth_MR: torch.Tensor) -> None:
        """The open nodes' guesses, in the order of :meth:`open_paths`, the likeliest first.

        ``log_worth_MR`` is the logarithm of the chance that a guess is right if the path before it is; at most 0. A guess whose
        worth is no number is left out.
        """
        rows, places = self._open_BO.shape
        ranks = tokens_MR.shape[1]
        worth_BOR = self._worth_BS.new_full((rows, places, ranks), _NEVER)
        above_BO = self._worth_BS.gather(1, self._open_BO)
        worth_BOR[self._is_open_BO] = above_BO[self._is_open_BO][:, None] + log_worth_MR.float().nan_to_num(nan=_NEVER)
        tokens_BOR = self._tokens_BS.new_full((rows, places, ranks), PAD)
        tokens_BOR[self._is_open_BO] = tokens_MR
        path_BORk = torch.cat([self._path_BOk[:, :, None].expand(-1, -1, ranks, -1), tokens_BOR[..., None]], -1)
        first, self._level = self._tokens_BS.shape[1], self._level + 1
        self._tokens_BS = torch.cat([self._tokens_BS, tokens_BOR.flatten(1)], 1)
        self._worth_BS = torch.cat([self._worth_BS, worth_BOR.flatten(1)], 1)
        self._parent_BS = torch.cat([self._parent_BS, self._open_BO[:, :, None].expand(-1, -1, ranks).flatten(1)], 1)
        self._depth_S = torch.cat([self._depth_S, self._depth_S.new_full((places * ranks,), self._level)])
        self._choose_open(first, path_BORk.flatten(1, 2))

    def _choose_open(self, first: int, path_BEk: torch.Tensor) -> None:
        """Among the nodes from ``first`` on, those that a child could follow into the tree, the best first."""
        new_BE = self._worth_BS[:, first:]
        # a child has its parent, and all that is worth more, before it in the tree
        best_BS = self._worth_BS.sort(dim=-1, descending=True).values
        last_B1 = (self._limits_B2[:, :1] - 2).clamp(0, best_BS.shape[1] - 1)
        worthy_BE = (new_BE >= best_BS.gather(1, last_B1)) & (new_BE > _NEVER)
        worthy_BE &= new_BE >= self._least
        worthy_BE &= (self._limits_B2[:, :1] > 2) & (self._limits_B2[:, 1:] > self._level)
        places = max(1, int(worthy_BE.sum(-1).max()))
        order_BE = new_BE.masked_fill(~worthy_BE, _NEVER).sort(dim=-1, descending=True, stable=True).indices
        chosen_BO = order_BE[:, :places]
        self._is_open_BO = worthy_BE.gather(1, chosen_BO)
        self._open_BO = chosen_BO + first
        self._path_BOk = path_BEk.gather(1, chosen_BO[..., None].expand(-1, -1, path_BEk.shape[-1]))

    def tree(self) -> CandidateTree:
        """The best tree for each row. Nodes are ordered by worth, so that a smaller tree is a prefix; short rows are padded."""
        # stable: a child that is worth as much as its parent stays behind it
        worth_BS, order_BS = self._worth_BS.sort(dim=-1, descending=True, stable=True)
        places_S = torch.arange(order_BS.shape[1], device=order_BS.device)
        taken_BS = (worth_BS > _NEVER) & (places_S < self._limits_B2[:, :1])
        taken_BS[:, 0] = True
        nodes = int(taken_BS.sum(-1).max())
        index_BN, taken_BN = order_BS[:, :nodes], taken_BS[:, :nodes]
        place_BS = torch.empty_like(order_BS).scatter_(1, order_BS, places_S.expand_as(order_BS))
        parent_BN = place_BS.gather(1, self._parent_BS.gather(1, index_BN).clamp(min=0)).masked_fill(~taken_BN, 0)
        depth_BN = self._depth_S[index_BN].masked_fill(~taken_BN, 0)
        tokens_BN = self._tokens_BS.gather(1, index_BN).masked_fill(~taken_BN, PAD)
        ancestors_BNN = self._ancestors(parent_BN, taken_BN)
        parent_BN[:, 0] = -1
        return CandidateTree(tokens_BN, parent_BN, depth_BN, ancestors_BNN)

    def _ancestors(self, parent_BN: torch.Tensor, taken_BN: torch.Tensor) -> torch.Tensor:
        itself_NN = torch.eye(parent_BN.shape[1], dtype=torch.bool, device=parent_BN.device)
        ancestors_BNN = itself_NN.expand(len(parent_BN), -1, -1)
        for _ in range(self._level):  # each round sees one generation further up; the root is its own parent here
            ancestors_BNN = itself_NN | ancestors_BNN.gather(1, parent_BN[..., None].expand_as(ancestors_BNN))
        return torch.where(taken_BN[..., None], ancestors_BNN, itself_NN)
