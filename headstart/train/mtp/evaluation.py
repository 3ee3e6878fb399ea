"""What heads know of a text: losses, and guesses by rank.

Shapes: E examples (positions), T positions of a text, S positions in a slice, N heads, K heads after the first, R ranks (or
positions of a batch), V vocabulary.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from headstart.train.batches import AnswerSpan
from headstart.train.mtp.headed_model import HeadedModel
from headstart.train.mtp.objective import SLICE_LOGITS
from headstart.train.simulation import BEYOND, WIDTH, Guesses, ranked


@dataclass(frozen=True)
class HeldOut:
    """Each head on true text."""

    nats_N: list[float]
    """Mean cross-entropy."""
    top_N: list[float]
    """How often a head's first guess is right."""
    positions: int


@torch.no_grad()
def on_true_text(headed: HeadedModel, texts: Iterable[torch.Tensor]) -> HeldOut:
    """Every head at every position of batches B x T that has a target for all of them."""
    count = 1 + len(headed.layers)
    nats_N, right_N, positions = [0.0] * count, [0] * count, 0
    rows = max(1, SLICE_LOGITS // headed.vocab_size)  # no more logits at a time than in training
    for ids_BT in texts:
        ids_BT = ids_BT.to(headed.model.device)
        length = ids_BT.shape[1] - count
        for n, states_BTD in enumerate(_states(headed, ids_BT[:, :length])):
            labels_R, states_RD = ids_BT[:, n + 1 : n + 1 + length].flatten(), states_BTD.flatten(0, 1)
            for states_SD, labels_S in zip(states_RD.split(rows), labels_R.split(rows), strict=True):
                logits_SV = headed.unembed(states_SD).float()
                nats_N[n] += float(F.cross_entropy(logits_SV, labels_S, reduction="sum"))
                right_N[n] += int((logits_SV.argmax(-1) == labels_S).sum())
        positions += ids_BT.shape[0] * length
    return HeldOut([nats / positions for nats in nats_N], [right / positions for right in right_N], positions)


@torch.no_grad()
def guesses_on(headed: HeadedModel, texts: Sequence[tuple[Sequence[int], Sequence[int]]]) -> tuple[Guesses, list[AnswerSpan]]:
    """What the heads after the first guess at each position of texts, given as (prompt, what comes after it)."""
    heads = len(headed.layers)
    ranks: list[torch.Tensor] = []
    scores: list[torch.Tensor] = []
    spans: list[AnswerSpan] = []
    first = 0
    for number, (prompt, written) in enumerate(texts):
        count = len(written) - 1  # the last id has nothing behind it
        if count < 1:
            continue
        ids_T = torch.tensor([*prompt, *written], device=headed.model.device)
        start = len(prompt) - 1
        rank_EK = torch.full((count, heads), BEYOND, dtype=torch.int8)
        log_q_EKR = torch.full((count, heads, WIDTH), float("-inf"))
        for n, states_1TD in enumerate(_states(headed, ids_T[None])):
            if n == 0:
                continue
            there_E = ids_T[start + n + 1 :][:count]
            labels_E = torch.cat([there_E, there_E.new_full((count - len(there_E),), BEYOND)])
            logits_EV = headed.unembed(states_1TD[0, start : start + count])
            rank_EK[:, n - 1], log_q_EKR[:, n - 1] = ranked(logits_EV, labels_E, labels_E == BEYOND)
        ranks.append(rank_EK)
        scores.append(log_q_EKR)
        spans.append(AnswerSpan(conversation=number, first=first, count=count, shard=0, greedy=True))
        first += count
    return Guesses(torch.cat(ranks), torch.cat(scores)), spans


def _states(headed: HeadedModel, ids_BT: torch.Tensor) -> Iterable[torch.Tensor]:
    """What the unembedding reads of one head after the other, B x T x D."""
    trunk = headed.trunk(ids_BT)
    yield trunk.first_BTD
    for layer in headed.layers:
        yield layer(trunk.leaf_BTD)
