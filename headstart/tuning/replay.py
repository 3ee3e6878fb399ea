"""Decoding observed answers again without the model, to see how many tokens a step trees of any size would have given.

Exact for the texts observed: what heads guess depends on the position alone, and what the model accepts is what it wrote.
What matters of a position is how large a tree has to be for each further right guess to be in it, so that one growth of the
largest tree answers for all sizes.

Shapes: E observed positions, K heads, R ranks, N tree nodes, B positions of a batch.
"""

from collections import Counter
from collections.abc import Sequence

import torch

from headstart.trees.calibration import Calibration
from headstart.trees.growth import Envelope
from headstart.trees.shape import Path, TreeShape
from headstart.tuning.observe import Observations

NEVER = 1 << 30
"""More nodes than any tree has."""
_BATCH = 1024


def joint_counts(rank_EK: torch.Tensor, ranks: int) -> Counter[Path]:
    """How many positions have their continuation on each rank path of the first ``ranks`` guesses."""
    counts: Counter[Path] = Counter()
    for path in _right_paths(rank_EK, ranks):
        counts.update(path[:depth] for depth in range(1, len(path) + 1))
    return counts


def nodes_needed_static(rank_EK: torch.Tensor, ranks: int, shape: TreeShape) -> torch.Tensor:
    """E x K: the nodes, root included, of the smallest prefix of ``shape`` that accepts k + 1 guesses; ``NEVER`` if none does."""
    place = {path: i + 2 for i, path in enumerate(shape.paths)}
    needed_EK = torch.full(rank_EK.shape, NEVER, dtype=torch.int64)
    for e, path in enumerate(_right_paths(rank_EK, ranks)):
        for k in range(len(path)):
            if path[: k + 1] not in place:
                break
            needed_EK[e, k] = place[path[: k + 1]]
    return needed_EK


def nodes_needed_grown(seen: Observations, calibration: Calibration, nodes: int) -> torch.Tensor:
    """E x K: the same for trees grown anew at each position, of at most ``nodes`` nodes: a smaller one is a prefix of it."""
    _, heads, ranks = seen.log_q_EKR.shape
    envelope = Envelope.of(nodes, heads, min(ranks, max(1, nodes - 1)))
    parts = [torch.zeros(0, heads, dtype=torch.int64)]
    for rank_BK, log_q_BKR in zip(seen.rank_EK.split(_BATCH), seen.log_q_EKR.split(_BATCH), strict=True):
        rows = len(rank_BK)
        ranks_BKR = torch.arange(ranks).expand(rows, heads, -1)  # a node's id is its rank
        limits_B2 = torch.tensor([nodes, heads]).expand(rows, -1)
        tree = envelope.grow(ranks_BKR, calibration.log_worth(log_q_BKR), torch.zeros(rows, dtype=torch.int64), limits_B2)
        needed_BK = torch.full((rows, heads), NEVER, dtype=torch.int64)
        here_B, alive_B = torch.zeros(rows, dtype=torch.int64), torch.ones(rows, dtype=torch.bool)
        for k in range(heads):
            child_BN = (tree.parent_BN == here_B[:, None]) & (tree.tokens_BN == rank_BK[:, k, None]) & (tree.depth_BN == k + 1)
            alive_B = alive_B & child_BN.any(-1)
            here_B = torch.where(alive_B, child_BN.int().argmax(-1), here_B)
            needed_BK[alive_B, k] = here_B[alive_B] + 1
        parts.append(needed_BK)
    return torch.cat(parts)


def replay(needed_EK: torch.Tensor, lengths: Sequence[int], nodes: int) -> list[tuple[int, int]]:
    """For each answer: tokens after its first one, and steps, with trees of ``nodes`` nodes."""
    accepted = (needed_EK <= nodes).sum(-1).tolist()
    result, first = [], 0
    for length in lengths:
        result.append((length, steps_of(accepted[first : first + length])))
        first += length
    return result


def steps_of(accepted: Sequence[int]) -> int:
    """Steps through one answer, if so many guesses are accepted at each of its positions."""
    at = steps = 0
    while at < len(accepted):
        at += accepted[at] + 1
        steps += 1
    return steps


def tokens_per_step(replayed: Sequence[tuple[int, int]]) -> float:
    """Over all answers together."""
    return sum(tokens for tokens, _ in replayed) / sum(steps for _, steps in replayed)


def standard_error(replayed: Sequence[tuple[int, int]]) -> float:
    """Of :func:`tokens_per_step`, answers being independent; NaN for a single one.

    Source: the ratio estimator of survey sampling (Cochran 1977, section 6.4).
    """
    count = len(replayed)
    if count < 2:
        return float("nan")
    ratio, mean = tokens_per_step(replayed), sum(steps for _, steps in replayed) / count
    variance = sum((tokens - ratio * steps) ** 2 for tokens, steps in replayed) / (count - 1)
    return float((variance / count) ** 0.5 / mean)


def _right_paths(rank_EK: torch.Tensor, ranks: int) -> list[Path]:
    """For each position the ranks of the true continuation, as far as every head guessed it."""
    paths = []
    for row in rank_EK.tolist():
        end = next((k for k, rank in enumerate(row) if not 0 <= rank < ranks), len(row))
        paths.append(tuple(row[:end]))
    return paths
