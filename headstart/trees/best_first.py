"""Trees grown best node first, from guesses that depend on the whole path before them.

Where guesses depend on the depth alone, :mod:`headstart.trees.growth` does the same for a whole batch at once.

Shapes: B rows, N nodes (the root included and first).
"""

from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Protocol

import torch

from headstart.trees.budget import Budget
from headstart.trees.candidate import PAD, CandidateTree

Guess = tuple[int, float]
"""An id, and the chance that it is right if the path before it is."""


class Continuations(Protocol):
    """What one row may go on with in one step, asked node by node."""

    def after(self, path: tuple[int, ...]) -> Sequence[Guess]:
        """Guesses for the id after the root and ``path`` (the ids of the nodes below the root), all different, the likeliest
        first. A chance is above 0 and at most 1."""


def grow(
    roots: Sequence[int],
    continuations: Sequence[Continuations],
    limits: Sequence[Budget],
    *,
    least: float,
    device: torch.device,
) -> CandidateTree:
    """The best tree for each row: always the path with the largest product of chances is added next.

    Args:
        roots: the root ids.
        continuations: each row's guesses.
        least: a path whose product is below it is left out, so that a tree may stay smaller than its limit.

    Returns:
        Trees whose nodes are ordered by worth, as wide as the largest of them needs.
    """
    rows = [_Growing(root) for root in roots]
    for row, guesses, limit in zip(rows, continuations, limits, strict=True):
        row.grow(guesses, limit, least)
    width = max((len(row.tokens) for row in rows), default=1)
    for row in rows:
        row.pad(width)
    return CandidateTree(
        tokens_BN=torch.tensor([row.tokens for row in rows], dtype=torch.int64, device=device),
        parent_BN=torch.tensor([row.parent for row in rows], dtype=torch.int64, device=device),
        depth_BN=torch.tensor([row.depth for row in rows], dtype=torch.int64, device=device),
        ancestors_BNN=torch.tensor([row.ancestors(width) for row in rows], dtype=torch.bool, device=device),
    )


class _Growing:
    """One row's tree."""

    def __init__(self, root: int) -> None:
        self.tokens, self.parent, self.depth = [root], [-1], [0]
        self._path: list[tuple[int, ...]] = [()]
        self._worth = [1.0]
        self._total = 1.0  # expected tokens: the root's step gives one
        self._guesses: dict[int, Sequence[Guess]] = {}
        self._open: list[tuple[float, int, int, int]] = []
        self._offers = 0

    def grow(self, continuations: Continuations, limit: Budget, least: float) -> None:
        node = 0
        while len(self.tokens) < limit.nodes:
            if self.depth[node] < limit.depth:
                self._guesses[node] = continuations.after(self._path[node])
                self._offer(node, 0, least)
            if not self._open or not self._pays(-self._open[0][0], limit.price):
                return
            _, _, parent, place = heappop(self._open)
            self._offer(parent, place + 1, least)
            node = self._add(parent, *self._guesses[parent][place])

    def _pays(self, worth: float, price: float) -> bool:
        """Whether (tokens + worth) / (time + price) is above tokens / time."""
        return worth * (1.0 + price * (len(self.tokens) - 1)) >= price * self._total

    def pad(self, nodes: int) -> None:
        missing = nodes - len(self.tokens)
        self.tokens += [PAD] * missing
        self.parent += [0] * missing
        self.depth += [0] * missing

    def ancestors(self, nodes: int) -> list[list[bool]]:
        seen: list[list[bool]] = []
        for node, (token, parent) in enumerate(zip(self.tokens, self.parent, strict=True)):
            mine = [False] * nodes if parent < 0 or token == PAD else seen[parent].copy()
            mine[node] = True
            seen.append(mine)
        return seen

    def _offer(self, parent: int, place: int, least: float) -> None:
        """Only the best guess of a node that is not in the tree yet waits to be taken."""
        guesses = self._guesses[parent]
        if place < len(guesses):
            worth = self._worth[parent] * guesses[place][1]
            if worth >= least:
                self._offers += 1  # among equals the first one offered is taken
                heappush(self._open, (-worth, self._offers, parent, place))

    def _add(self, parent: int, token: int, chance: float) -> int:
        self.tokens.append(token)
        self.parent.append(parent)
        self.depth.append(self.depth[parent] + 1)
        self._path.append((*self._path[parent], token))
        self._worth.append(self._worth[parent] * chance)
        self._total += self._worth[-1]
        return len(self.tokens) - 1
