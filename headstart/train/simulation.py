"""Decoding recorded greedy answers step by step without the base model, to see what heads and trees are worth.

Exact: a head's guesses depend on the recorded state and root alone, and a greedy answer is what the base model accepts.

Shapes: E examples, K heads, R ranks, N tree nodes.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headstart.train.batches import AnswerSpan
from headstart.trees.calibration import Calibration
from headstart.trees.growth import Envelope
from headstart.trees.search import grow
from headstart.trees.shape import Path, TreeShape
from headstart.tuning.calibration import fit_calibration

WIDTH = 10
"""Guesses of a head that are looked at."""
BEYOND = -1
"""Instead of a rank: the answer ended before this head's token."""
_BATCH = 1024


@dataclass(frozen=True)
class Guesses:
    """What heads guessed at each example."""

    rank_EK: torch.Tensor
    """int8; the place of the right token among the head's guesses. ``WIDTH`` stands for all places from there on, ``BEYOND`` for
    an answer that has ended."""
    log_q_EKR: torch.Tensor
    """Log probabilities of the guesses, the best first."""

    def of(self, spans: Sequence[AnswerSpan]) -> "Guesses":
        """The examples of some answers."""
        index_E = torch.cat([torch.arange(span.first, span.first + span.count) for span in spans])
        return Guesses(self.rank_EK[index_E], self.log_q_EKR[index_E])


@dataclass(frozen=True)
class Simulated:
    """Tokens per step with one size of tree."""

    static: float
    static_steps: int
    grown: float


def joint_counts(rank_EK: torch.Tensor, spans: Sequence[AnswerSpan]) -> tuple[Counter[Path], int]:
    """How many examples of ``spans`` have their continuation on each rank path; and how many examples there are."""
    counts: Counter[Path] = Counter()
    total = 0
    for span in spans:
        total += span.count
        for row in rank_EK[span.first : span.first + span.count].tolist():
            path = _right_path(row)
            for depth in range(1, len(path) + 1):
                counts[path[:depth]] += 1
    return counts, total


def accepted_in(shape: TreeShape, rank_EK: torch.Tensor) -> torch.Tensor:
    """How many guesses of a static tree are accepted at each example, E."""
    inside = set(shape.paths)

    def depth(path: Path) -> int:
        return next((d for d in range(len(path)) if path[: d + 1] not in inside), len(path))

    return torch.tensor([depth(_right_path(row)) for row in rank_EK.tolist()], dtype=torch.int64)


def accepted_when_grown(seen: Guesses, calibration: Calibration, nodes: int) -> torch.Tensor:
    """How many guesses are accepted at each example, E, if each has its own tree of ``nodes`` nodes."""
    _, heads, width = seen.log_q_EKR.shape
    envelope = Envelope.of(nodes, heads, width)
    parts = [torch.zeros(0, dtype=torch.int64)]
    for rank_BK, log_q_BKR in zip(seen.rank_EK.long().split(_BATCH), seen.log_q_EKR.split(_BATCH), strict=True):
        rows = len(rank_BK)
        ranks_BKR = torch.arange(width).expand(rows, heads, -1)  # a node's id is its rank
        limits_B2 = torch.tensor([nodes, heads]).expand(rows, -1)
        tree = envelope.grow(ranks_BKR, calibration.log_worth(log_q_BKR), torch.zeros(rows, dtype=torch.int64), limits_B2)
        here_B, depth_B = torch.zeros(rows, dtype=torch.int64), torch.zeros(rows, dtype=torch.int64)
        for k in range(heads):
            child_BN = (tree.parent_BN == here_B[:, None]) & (tree.tokens_BN == rank_BK[:, k, None]) & (tree.depth_BN == k + 1)
            there_B = child_BN.any(-1) & (depth_B == k)
            here_B = torch.where(there_B, child_BN.int().argmax(-1), here_B)
            depth_B += there_B
        parts.append(depth_B)
    return torch.cat(parts)


def simulate(accepted_E: torch.Tensor, spans: Sequence[AnswerSpan]) -> tuple[int, int]:
    """(tokens after the first one of each answer, verify passes) if ``accepted_E`` guesses are accepted at each example."""
    accepted = accepted_E.tolist()
    tokens = steps = 0
    for span in spans:
        at = 0
        while at < span.count:
            at += accepted[span.first + at] + 1
            steps += 1
        tokens += span.count
    return tokens, steps


def cross_simulated(seen: Guesses, greedy: Sequence[AnswerSpan], sizes: Sequence[int]) -> dict[int, Simulated]:
    """By tree size: each half of the conversations decoded with what was learned from the other half; empty if one has none."""
    numbers = sorted({span.conversation for span in greedy})
    first = set(numbers[::2])
    halves = [[s for s in greedy if s.conversation in first], [s for s in greedy if s.conversation not in first]]
    if not halves[1]:
        return {}
    counts = [joint_counts(seen.rank_EK, half)[0] for half in halves]
    learned = [seen.of(half) for half in halves]
    lines = [fit_calibration(part.log_q_EKR, part.rank_EK.long()) for part in learned]
    result = {}
    for nodes in sizes:
        static = [
            simulate(accepted_in(grow(other, nodes), seen.rank_EK), half)
            for half, other in zip(halves, reversed(counts), strict=True)
        ]
        grown = [
            simulate(accepted_when_grown(seen, other, nodes), half) for half, other in zip(halves, reversed(lines), strict=True)
        ]
        static_steps = sum(steps for _, steps in static)
        result[nodes] = Simulated(
            static=sum(tokens for tokens, _ in static) / static_steps,
            static_steps=static_steps,
            grown=sum(tokens for tokens, _ in grown) / sum(steps for _, steps in grown),
        )
    return result


def _right_path(row: Sequence[int]) -> Path:
    """The ranks of the true continuation as far as every head guessed it."""
    path: list[int] = []
    for rank in row:
        if not 0 <= rank < WIDTH:
            break
        path.append(rank)
    return tuple(path)
