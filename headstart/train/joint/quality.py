"""What the model itself is worth on held-out answers, and what the heads guess there.

Shapes: A answer tokens, E examples of the heads, K heads, R ranks, V vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headstart.train.batches import AnswerSpan
from headstart.train.joint.backbone import Backbone
from headstart.train.joint.objective import Objective
from headstart.train.joint.packing import Packed, pack, rows_of
from headstart.train.joint.texts import Text
from headstart.train.simulation import BEYOND, WIDTH, Guesses, ranked

_ROWS = 2
_SLICE = 512  # answer tokens whose logits are made at once


@dataclass(frozen=True)
class Quality:
    """The model's own predictions of answer tokens, in the order of ``texts``."""

    nats_A: torch.Tensor
    """-log p of each token."""
    best_A: torch.Tensor
    """The likeliest token at its place."""
    alike: float
    """Mean cosine between the model's states and the recorded ones; NaN where none were recorded."""

    @property
    def perplexity(self) -> float:
        return math.exp(float(self.nats_A.double().mean()))

    def agreement(self, other: "Quality") -> float:
        """Share of places at which both think the same token the likeliest."""
        return float((self.best_A == other.best_A).double().mean())


@dataclass(frozen=True)
class Seen:
    """What a pass over held-out texts gave."""

    quality: Quality
    guesses: Guesses
    spans: list[AnswerSpan]
    """Where each answer's examples lie in ``guesses``."""


@torch.no_grad()
def look(backbone: Backbone, objective: Objective, texts: Sequence[Text], length: int) -> Seen:
    """Run the model and the heads over ``texts``, answers as they were written. The heads are looked at without dropout."""
    backbone.train(False)
    rows = rows_of(texts, length)
    nats, best, ranks, log_q, alike = [], [], [], [], []
    for i in range(0, len(rows), _ROWS):
        packed = pack(rows[i : i + _ROWS], backbone.device)
        hidden_AD = backbone.hidden(packed.ids_BT, packed.positions_BT).flatten(0, 1)[packed.at_A].to(objective.compute)
        for states_RD, next_R in zip(hidden_AD.split(_SLICE), packed.next_A.split(_SLICE), strict=True):
            logits_RV = objective.matrix.logits(states_RD).float()
            nats.append((logits_RV.logsumexp(-1) - logits_RV.gather(1, next_R[:, None])[:, 0]).cpu())
            best.append(logits_RV.argmax(-1).cpu())
        if packed.recorded_AD is not None and bool(packed.known_A.any()):
            both = (hidden_AD[packed.known_A].float(), packed.recorded_AD[packed.known_A].float())
            alike.append(torch.cosine_similarity(*both, dim=-1).cpu())
        rank_EK, log_q_EKR = _guesses(objective, hidden_AD, packed)
        ranks.append(rank_EK)
        log_q.append(log_q_EKR)
    mean = float(torch.cat(alike).mean()) if alike else float("nan")
    quality = Quality(torch.cat(nats), torch.cat(best), mean)
    return Seen(quality, Guesses(torch.cat(ranks), torch.cat(log_q)), _spans([text for row in rows for text in row]))


def _guesses(objective: Objective, hidden_AD: torch.Tensor, packed: Packed) -> tuple[torch.Tensor, torch.Tensor]:
    heads, example_A = objective.heads.config.num_heads, packed.left_A > 0
    width = min(WIDTH, objective.heads.config.projected_vocab)
    targets_EK = packed.ahead(heads)[example_A]
    rank_EK = torch.full(targets_EK.shape, BEYOND, dtype=torch.int8)
    log_q_EKR = torch.full((*targets_EK.shape, width), float("-inf"))
    if not len(targets_EK):
        return rank_EK, log_q_EKR
    states_KED = objective.states(hidden_AD[example_A], packed.next_A[example_A], targets_EK)
    labels_KE = objective.places(targets_EK)
    for k in range(heads):
        matrix = objective.projected(k)
        for index in torch.arange(len(targets_EK)).split(_SLICE):
            logits_BV, ended_B = matrix.logits(states_KED[k][index]), targets_EK[index, k] == BEYOND
            rank_EK[index, k], log_q_EKR[index, k] = ranked(logits_BV, labels_KE[k][index], ended_B)
    return rank_EK, log_q_EKR


def _spans(texts: Sequence[Text]) -> list[AnswerSpan]:
    spans, first = [], 0
    for text in texts:
        if text.answer > 1:
            spans.append(AnswerSpan(first, text.answer - 1, text.conversation, 0, text.greedy))
        first += max(0, text.answer - 1)
    return spans
