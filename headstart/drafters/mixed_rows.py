"""Rows whose candidates are drawn in one batch with rows whose candidates are ranked."""

from collections.abc import Callable, Sequence

import torch

from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree

Propose = Callable[[Sequence[int], Sequence[RowSampling], Sequence[Budget]], CandidateTree]


def each_kind(
    propose: Propose, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget], device: torch.device
) -> CandidateTree:
    """One tree on ``device`` from two proposals: for the rows with a ``draft_temperature``, and for those without."""
    parts = []
    for drawing in (True, False):
        mine = [b for b, state in enumerate(sampling) if (state.draft_temperature is not None) == drawing]
        tree = propose([rows[b] for b in mine], [sampling[b] for b in mine], [budgets[b] for b in mine])
        parts.append((mine, tree))
    return CandidateTree.assembled(len(rows), parts, device)
