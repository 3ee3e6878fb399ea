"""Lossy acceptance: a guess is taken if the base model finds it likely enough, whatever it would have said itself.

Rules of this kind write another text than the base model, and another one for each drafter, tree and budget.

Shapes: B rows, N nodes, C children of a node, V vocabulary.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Sequence

import torch

from headstart.acceptance.walk import Accepted, walk
from headstart.sampling.filters import COLDEST, survivors
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling, choose, processed
from headstart.trees.candidate import CandidateTree

Bound = Callable[[torch.Tensor], float]
"""The probability that a guess has to exceed, from ``log_p_V`` (nats) of the base model at its place."""


def longest_path(
    tree: CandidateTree, logits_BNV: torch.Tensor, rows: Sequence[RowSampling | None], bound: Bound
) -> list[Accepted | None]:
    """The longest path all of whose tokens exceed the bound; of equally long ones the one with the larger sum of log p.

    p is taken after processors and temperature; a token that top-k, top-p, min-p or typical-p drop is never accepted. The next
    root is the base model's own token after the path. At temperature 0 the base model's distribution is its argmax alone, so
    that such rows are accepted exactly.
    """
    exact = walk(tree, logits_BNV, [row if row is not None and row.params.greedy else None for row in rows])
    tokens_BN, parent_BN = tree.read()
    return [
        _accepted(tokens_BN[b], parent_BN[b], logits_BNV[b], row, bound) if row is not None and not row.params.greedy else exact[b]
        for b, row in enumerate(rows)
    ]


def _accepted(
    tokens_N: Sequence[int], parent_N: Sequence[int], logits_NV: torch.Tensor, row: RowSampling, bound: Bound
) -> Accepted:
    children: dict[int, list[int]] = defaultdict(list)
    for node, parent in enumerate(parent_N):
        if node and tokens_N[node] >= 0:
            children[parent].append(node)
    paths: list[tuple[tuple[int, ...], float]] = [((0,), 0.0)]
    for path, score in paths:  # grows while it is walked
        below = children[path[-1]]
        if below:
            said = [tokens_N[node] for node in path[1:]]
            log_p_C = _allowed(processed(logits_NV[path[-1]], row, said), [tokens_N[child] for child in below], row.params, bound)
            for child, log_p in zip(below, log_p_C, strict=True):
                if log_p > -math.inf:
                    paths.append(((*path, child), score + log_p))
    best, _ = max(paths, key=lambda found: (len(found[0]), found[1]))
    said = [tokens_N[node] for node in best[1:]]
    return Accepted(best, (*said, *choose(logits_NV[best[-1]][None], [row], [said])))


def _allowed(logits_V: torch.Tensor, tokens_C: Sequence[int], params: SamplingParams, bound: Bound) -> list[float]:
    """log p of each token that is accepted, -inf for the others."""
    log_p_V = torch.log_softmax(logits_V / max(params.temperature, COLDEST), -1)
    log_p_C: list[float] = log_p_V[tokens_C].tolist()
    least = bound(log_p_V)
    kept = set(tokens_C)
    if params.filters:
        ids_1C, filtered_1C = survivors(logits_V[None], params)
        kept &= set(ids_1C[filtered_1C > -torch.inf].tolist())
    return [
        log_p if token in kept and math.exp(log_p) > least else -math.inf for token, log_p in zip(tokens_C, log_p_C, strict=True)
    ]
