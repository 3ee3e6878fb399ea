"""From a draft model's logits to guesses by rank, above temperature 0 with the noise of the text's own draw.

Shapes: M nodes, each of some row, R ranks, C candidates of a node, V vocabulary.
"""

from collections.abc import Sequence

import torch

from headstart.drafters.noisy_guesses import LOOKED_AT
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


def _noisy(logits_C: torch.Tensor, ids_C: torch.Tensor, row: RowSampling, depth: int) -> torch.Tensor:
    # the filters sort equal logits by place, and the likeliest come first
    places_1S, log_p_1S = survivors(logits_C[None], row.params)
    seed_1 = torch.tensor([row.seed], dtype=torch.int64, device=ids_C.device)
    position_1 = torch.tensor([row.prompt_length + len(row.generated) + depth], device=ids_C.device)
    noise_1S = gumbel(seed_1, position_1, ids_C[places_1S])
    log_q_C = torch.full(logits_C.shape, -torch.inf, device=ids_C.device)
    log_q_C[places_1S[0]] = torch.log_softmax(log_p_1S.double() + noise_1S, -1)[0].float()
    return log_q_C
