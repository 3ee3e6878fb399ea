"""What heads are worth on conversations that they were not trained on.

Shapes: E examples, B examples of a batch, K heads, R ranks, V draft vocabulary.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F

from headstart.train.batches import AnswerSpan, Examples
from headstart.train.loop import Trainer
from headstart.trees.search import expected_tokens, grow
from headstart.trees.shape import Path, TreeShape

TOPS = (1, 3, 5, 10)
SIZES = (4, 8, 16, 32, 64)
"""Tree sizes that are reported, the root included."""
WIDTH = 10
"""Guesses of a head that are looked at."""
BEYOND = -1
"""Instead of a rank: the answer ended before this head's token."""
_BATCH = 1024


@dataclass(frozen=True)
class Evaluation:
    """Figures on held-out conversations."""

    conversations: int
    answers: int
    examples: int
    labels: int
    """Head tokens looked at, over all heads."""
    coverage: float
    """Share of labels that are in the draft vocabulary at all."""
    top_KT: list[list[float]]
    """Per head, how often the right token is among its first 1, 3, 5 and 10 guesses; tokens outside the vocabulary are misses."""
    predicted: dict[int, float]
    """Tokens per step by tree size: the mean over all examples, tree grown from the same ones."""
    simulated: dict[int, float]
    """Tokens per step by tree size: greedy answers decoded step by step, each half with the tree of the other half. Empty
    without greedy answers."""
    simulated_steps: dict[int, int]
    """Base-model passes that ``simulated`` stands on."""

    @property
    def score(self) -> float:
        """What training stops early by: predicted tokens per step at 8 nodes."""
        return self.predicted[8]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@torch.no_grad()
def ranks(trainer: Trainer, examples: Examples) -> torch.Tensor:
    """For each example and head the place of the right token among the head's guesses, E x K, int8.

    ``WIDTH`` stands for all places from there on, ``BEYOND`` for an answer that has ended.
    """
    heads = trainer.heads.config.num_heads
    width = min(WIDTH, trainer.heads.config.projected_vocab)
    out = torch.full((len(examples), heads), BEYOND, dtype=torch.int8)
    for index_B in torch.arange(len(examples)).split(_BATCH):
        batch = examples.gather(index_B, heads, trainer.device)
        states_KBD, labels_KB = trainer.states(batch), trainer.labels(batch)
        for k in range(heads):
            matrix = trainer.logits_matrix(k)
            best_BR = F.linear(states_KBD[k], matrix.weight_VD, matrix.bias_V).topk(width, sorted=True).indices
            hit_BR = best_BR == labels_KB[k][:, None]
            rank_B = torch.where(hit_BR.any(-1), hit_BR.int().argmax(-1), WIDTH)
            out[index_B, k] = torch.where(batch.targets_BK[:, k] == BEYOND, BEYOND, rank_B).to("cpu", torch.int8)
    return out


def evaluate(trainer: Trainer, examples: Examples) -> tuple[Evaluation, Counter[Path], int]:
    """All figures, and the joint rank counts with their total, from which trees are grown."""
    trainer.heads.eval()
    rank_EK = ranks(trainer, examples)
    trainer.heads.train()
    labelled_EK = rank_EK != BEYOND
    top_KT = [
        [_share(((rank_K >= 0) & (rank_K < top)).sum(), labelled_K.sum()) for top in TOPS]
        for rank_K, labelled_K in zip(rank_EK.T, labelled_EK.T, strict=True)
    ]
    greedy = [span for span in examples.spans if span.greedy]
    counted = greedy or examples.spans
    counts, total = joint_counts(rank_EK, counted)
    simulated, steps = _cross_simulated(rank_EK, greedy) if greedy else ({}, {})
    covered = _covered(trainer, examples)
    result = Evaluation(
        conversations=len({span.conversation for span in examples.spans}),
        answers=len(examples.spans),
        examples=len(examples),
        labels=int(labelled_EK.sum()),
        coverage=covered,
        top_KT=top_KT,
        predicted={nodes: expected_tokens(grow(counts, nodes), counts, total) for nodes in SIZES},
        simulated=simulated,
        simulated_steps=steps,
    )
    return result, counts, total


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


def simulate(shape: TreeShape, rank_EK: torch.Tensor, spans: Sequence[AnswerSpan]) -> tuple[int, int]:
    """Decode greedy answers step by step with ``shape``; returns (tokens after the first one of each, verify passes).

    Exact: a head's guesses depend on the recorded state and root alone, and a greedy answer is what the base model accepts.
    """
    inside = set(shape.paths)
    tokens = steps = 0
    for span in spans:
        rows = rank_EK[span.first : span.first + span.count].tolist()
        at = 0
        while at < span.count:
            path = _right_path(rows[at])
            depth = 0
            while depth < len(path) and path[: depth + 1] in inside:
                depth += 1
            at += depth + 1
            steps += 1
        tokens += span.count
    return tokens, steps


def _cross_simulated(rank_EK: torch.Tensor, greedy: Sequence[AnswerSpan]) -> tuple[dict[int, float], dict[int, int]]:
    """Each half of the conversations decoded with a tree grown from the other half."""
    numbers = sorted({span.conversation for span in greedy})
    first = set(numbers[::2])
    halves = [[s for s in greedy if s.conversation in first], [s for s in greedy if s.conversation not in first]]
    if not halves[1]:
        return {}, {}
    simulated, steps_of = {}, {}
    trees = [joint_counts(rank_EK, half)[0] for half in halves]
    for nodes in SIZES:
        tokens = steps = 0
        for half, counts in zip(halves, reversed(trees), strict=True):
            more, passes = simulate(grow(counts, nodes), rank_EK, half)
            tokens, steps = tokens + more, steps + passes
        simulated[nodes], steps_of[nodes] = tokens / steps, steps
    return simulated, steps_of


def _covered(trainer: Trainer, examples: Examples) -> float:
    inside = torch.zeros(trainer.heads.config.vocab_size, dtype=torch.bool)
    draft_ids = trainer.heads.draft_ids_V
    inside[slice(None) if draft_ids is None else draft_ids.cpu()] = True
    tokens = torch.cat([examples.targets(span) for span in examples.spans])
    return _share(inside[tokens].sum(), torch.tensor(len(tokens)))


def _right_path(row: Sequence[int]) -> Path:
    """The ranks of the true continuation as far as every head guessed it."""
    path: list[int] = []
    for rank in row:
        if not 0 <= rank < WIDTH:
            break
        path.append(rank)
    return tuple(path)


def _share(part: torch.Tensor, whole: torch.Tensor) -> float:
    return float(part) / float(whole) if float(whole) else float("nan")
