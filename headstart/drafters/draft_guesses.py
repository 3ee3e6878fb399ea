"""From a draft model's logits to guesses: by rank, by rank with the noise of the text's own draw, or drawn.

Shapes: M nodes, each of some row, R ranks, C candidates of a node, V vocabulary.
"""

from collections.abc import Sequence

import torch

from headstart.drafters.noisy_guesses import LOOKED_AT
from headstart.sampling.candidates import candidate_log_q, draw_candidates
from headstart.sampling.filters import survivors
from headstart.sampling.noise import gumbel
from headstart.sampling.row import RowSampling


def ranked(logits_MV: torch.Tensor, rows_M: Sequence[RowSampling], depth: int, ranks: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The ``ranks`` best ids of each node in order, M x R, and the logarithm of the chance that each is right.

    ``depth`` is how many guesses stand between the row's root and the guesses asked for. At temperature 0 the chance is the draft
    model's probability. Above it ids are ranked by ``log q(x) + G(seed, t, x)``, with the very noise that the base model's draw
    will see, and the row's filters; chances are those that remain once the noise is known.
    """
    looked_at = ranks if all(row.params.greedy for row in rows_M) else max(LOOKED_AT, ranks)
    best_MC = logits_MV.topk(min(looked_at, logits_MV.shape[1]), sorted=True)
    # not over the looked-at alone: what they leave out is a chance as well
    log_q_MC = best_MC.values.float() - logits_MV.float().logsumexp(-1, keepdim=True)
    for m, row in enumerate(rows_M):
        if not row.params.greedy:
            log_q_MC[m] = _noisy(best_MC.values[m], best_MC.indices[m], row, depth)
    log_q_MR, order_MR = log_q_MC.topk(min(ranks, log_q_MC.shape[1]), sorted=True)
    return best_MC.indices.gather(1, order_MR), log_q_MR


def drawn(logits_MV: torch.Tensor, rows_M: Sequence[RowSampling], depth: int, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    """``most`` ids of each node drawn at the row's draft temperature, in the order drawn, M x R, -1 where there are no more.

    They are drawn from the likeliest tokens alone, and q, which is also returned (M x V), is that.
    """
    best_MC = logits_MV.topk(min(max(LOOKED_AT, most), logits_MV.shape[1]), sorted=True)
    log_q_MC = candidate_log_q(best_MC.values, rows_M)
    positions = [row.prompt_length + len(row.generated) + depth for row in rows_M]
    places_MR = draw_candidates(log_q_MC, rows_M, positions, most, best_MC.indices)
    q_MV = torch.zeros(logits_MV.shape, device=logits_MV.device).scatter_(1, best_MC.indices, log_q_MC.exp())
    missing_MR, places_MR = places_MR < 0, places_MR.clamp(min=0)
    return best_MC.indices.gather(1, places_MR).masked_fill(missing_MR, -1), q_MV


def _noisy(logits_C: torch.Tensor, ids_C: torch.Tensor, row: RowSampling, depth: int) -> torch.Tensor:
    # the filters sort equal logits by place, and the likeliest come first
    places_1S, log_p_1S = survivors(logits_C[None], row.params)
    seed_1 = torch.tensor([row.seed], dtype=torch.int64, device=ids_C.device)
    position_1 = torch.tensor([row.prompt_length + len(row.generated) + depth], device=ids_C.device)
    noise_1S = gumbel(seed_1, position_1, ids_C[places_1S])
    log_q_C = torch.full(logits_C.shape, -torch.inf, device=ids_C.device)
    log_q_C[places_1S[0]] = torch.log_softmax(log_p_1S.double() + noise_1S, -1)[0].float()
    return log_q_C
