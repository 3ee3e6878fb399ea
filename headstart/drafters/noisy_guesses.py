"""Guesses that see noise: ranked by the noise of the model's own draw, or drawn with noise of their own.

At temperature above 0 guesses are ranked by ``log q(x) + G(seed, t, x)``, with the very noise that the base model's choice will
see, so that a drafter that agrees with the model agrees on the draw as well. Source: Daliri et al. (2024), drafter-invariant
speculative decoding.

Shapes: R places that are guessed for (of any rows, at any positions), C candidates that are looked at, V projected vocabulary, G
guesses.
"""

from collections.abc import Sequence

import torch

from headstart.sampling.candidates import candidate_log_q, draw_candidates
from headstart.sampling.filters import COLDEST
from headstart.sampling.noise import gumbel
from headstart.sampling.row import RowSampling
from headstart.trees.candidate import PAD

LOOKED_AT = 256
"""The likeliest tokens that noise is drawn for: the others are hardly ever worth a node, and hashing all takes longer than heads
do themselves."""


def ranked_with_noise(
    logits_RV: torch.Tensor, rows: Sequence[RowSampling], ahead_R: Sequence[int], ranks: int, ids_V: torch.Tensor | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The best guesses in order, R x ranks, as ids of the whole vocabulary, and their log probabilities once the noise is known.

    Args:
        logits_RV: over the ids ``ids_V``; None: over all of them.
        rows: whose text each place belongs to; at temperature 0 there is no noise.
        ahead_R: how many positions after the next one of that text each place lies.
        ranks: how many guesses are wanted.
    """
    device = logits_RV.device
    best_RC, ids_RC = _likeliest(logits_RV, ranks, ids_V)
    log_q_RC = best_RC.double() - logits_RV.double().logsumexp(-1, keepdim=True)
    sampled = [r for r, row in enumerate(rows) if not row.params.greedy]
    if sampled:
        temperature = torch.tensor([max(rows[r].params.temperature, COLDEST) for r in sampled], device=device)
        seeds = torch.tensor([rows[r].seed for r in sampled], dtype=torch.int64, device=device)
        positions = torch.tensor([_position(rows[r], ahead_R[r]) for r in sampled], device=device)
        # not filtered like the text: what a filter drops of the model's distribution is another set than what it drops of this one
        scores_RC = torch.log_softmax(best_RC[sampled].double() / temperature[:, None], -1)
        log_q_RC[sampled] = torch.log_softmax(scores_RC + gumbel(seeds, positions, ids_RC[sampled]), -1)
    log_q_RG, order_RG = log_q_RC.topk(ranks, sorted=True)
    return ids_RC.gather(1, order_RG), log_q_RG.float()


def drawn(
    logits_RV: torch.Tensor,
    rows: Sequence[RowSampling],
    ahead_R: Sequence[int],
    count: int,
    ids_V: torch.Tensor | None,
    vocab: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``count`` guesses for each place drawn at its row's ``draft_temperature``, R x count, in the order drawn.

    Where q has no more tokens there is padding. They are drawn from the likeliest tokens alone; q is that. Also returned: the log
    probabilities of the ``count`` likeliest tokens in order, which know nothing of what was drawn, and q over the base vocabulary,
    R x ``vocab``.
    """
    best_RC, ids_RC = _likeliest(logits_RV, count, ids_V)
    log_q_RC = candidate_log_q(best_RC, rows)
    positions = [_position(row, ahead) for row, ahead in zip(rows, ahead_R, strict=True)]
    places_RG = draw_candidates(log_q_RC, rows, positions, count, ids_RC)
    q_RV = log_q_RC.new_zeros(len(ids_RC), vocab).scatter_(1, ids_RC, log_q_RC.exp())
    tokens_RG = ids_RC.gather(1, places_RG.clamp(min=0)).masked_fill(places_RG < 0, PAD)
    return tokens_RG, log_q_RC[:, :count], q_RV


def _likeliest(logits_RV: torch.Tensor, least: int, ids_V: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
    best_RC = logits_RV.topk(min(max(LOOKED_AT, least), logits_RV.shape[1]), sorted=True)
    return best_RC.values, best_RC.indices if ids_V is None else ids_V[best_RC.indices]


def _position(row: RowSampling, ahead: int) -> int:
    return row.prompt_length + len(row.generated) + ahead
