"""Decoding recorded greedy answers step by step without the base model, to see what heads and trees are worth.

Exact: a head's guesses depend on the recorded state and root alone, and a greedy answer is what the base model accepts. The
answers are those of :mod:`headstart.tuning.replay`, found by where they lie among the examples.

Shapes: E examples, K heads, R ranks.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headstart.train.batches import AnswerSpan
from headstart.trees.shape import Path
from headstart.tuning import replay
from headstart.tuning.learned import learn
from headstart.tuning.observe import BEYOND as BEYOND
from headstart.tuning.observe import Observations

WIDTH = 10
"""Guesses of a head that are looked at."""


@dataclass(frozen=True)
class Guesses:
    """What heads guessed at each example."""

    rank_EK: torch.Tensor
    """int8; the place of the right token among the head's guesses. ``WIDTH`` stands for all places from there on, ``BEYOND`` for
    an answer that has ended."""
    log_q_EKR: torch.Tensor
    """Log probabilities of the guesses, the best first."""

    def of(self, spans: Sequence[AnswerSpan]) -> Observations:
        """The examples of some answers."""
        index_E = torch.cat([torch.arange(span.first, span.first + span.count) for span in spans])
        return Observations(self.rank_EK[index_E].long(), self.log_q_EKR[index_E], tuple(span.count for span in spans))


def ranked(logits_BV: torch.Tensor, labels_B: torch.Tensor, ended_B: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The place of the right token among a head's best guesses, B, as in :class:`Guesses`, and the guesses' log probabilities,
    B x R. ``labels_B`` are places in V, -1 where the right token is not among them; where ``ended_B``, there is no right one."""
    best_BR = logits_BV.topk(min(WIDTH, logits_BV.shape[-1]), sorted=True)
    log_q_BR = best_BR.values.float() - logits_BV.float().logsumexp(-1, keepdim=True)
    hit_BR = best_BR.indices == labels_B[:, None]
    rank_B = torch.where(hit_BR.any(-1), hit_BR.int().argmax(-1), WIDTH)
    return torch.where(ended_B, BEYOND, rank_B).to("cpu", torch.int8), log_q_BR.clamp(max=0).cpu()


@dataclass(frozen=True)
class Simulated:
    """Tokens per step with one size of tree."""

    static: float
    static_steps: int
    grown: float


def joint_counts(rank_EK: torch.Tensor, spans: Sequence[AnswerSpan]) -> tuple[Counter[Path], int]:
    """How many examples of ``spans`` have their continuation on each rank path; and how many examples there are."""
    parts = [rank_EK[span.first : span.first + span.count] for span in spans]
    return replay.joint_counts(torch.cat(parts), WIDTH), sum(span.count for span in spans)


def simulate(accepted_E: torch.Tensor, spans: Sequence[AnswerSpan]) -> tuple[int, int]:
    """(tokens after the first one of each answer, verify passes) if ``accepted_E`` guesses are accepted at each example."""
    accepted = accepted_E.tolist()
    steps = sum(replay.steps_of(accepted[span.first : span.first + span.count]) for span in spans)
    return sum(span.count for span in spans), steps


def cross_simulated(seen: Guesses, greedy: Sequence[AnswerSpan], sizes: Sequence[int]) -> dict[int, Simulated]:
    """By tree size: each half of the conversations decoded with what was learned from the other half; empty if one has none."""
    conversations = [span.conversation for span in greedy]
    if len(set(conversations)) < 2:
        return {}
    learned = learn(seen.of(greedy), sizes, groups=conversations)
    return {
        nodes: Simulated(static=learned.static[nodes], static_steps=learned.static_steps[nodes], grown=learned.grown[nodes])
        for nodes in sizes
    }
