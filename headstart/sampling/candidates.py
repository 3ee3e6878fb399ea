"""Candidates drawn at random from a drafter's own distribution, in the order in which they are tried.

Shapes: R distributions, C candidates (children) of each, V tokens that a distribution knows, M noises.
"""

from collections.abc import Sequence

import torch

from headstart.sampling.filters import COLDEST
from headstart.sampling.noise import gumbel, stream
from headstart.sampling.row import RowSampling

LEAST = -80.0
"""A logarithm whose exponential float32 still holds."""


def candidate_log_q(logits_RV: torch.Tensor, rows: Sequence[RowSampling]) -> torch.Tensor:
    """log q of each distribution at its row's ``draft_temperature``, float32.

    However cold it is, no token with a finite logit gets less than about ``LEAST``, so that there are as many candidates as tokens.
    A logit that is no number counts as -inf; where all are, q is even.
    """
    temperature_R1 = torch.tensor([max(row.draft_temperature or 0.0, COLDEST) for row in rows], device=logits_RV.device)[:, None]
    logits_RV = logits_RV.float().masked_fill(logits_RV.isnan(), -torch.inf)
    forbidden_RV = logits_RV == -torch.inf
    log_q_RV = torch.log_softmax(logits_RV / temperature_R1, -1).clamp(min=LEAST).masked_fill(forbidden_RV, -torch.inf)
    return torch.log_softmax(log_q_RV.masked_fill(forbidden_RV.all(-1, keepdim=True), 0.0), -1)


def draw_candidates(
    log_q_RV: torch.Tensor, rows: Sequence[RowSampling], positions: Sequence[int], count: int, ids_RV: torch.Tensor | None = None
) -> torch.Tensor:
    """``count`` places in V for each distribution, in the order drawn; places_RC, int64, -1 where q has no token left.

    Distribution r belongs to ``rows[r]`` (with its seed and ``draft_replacement``), and its candidates stand at
    ``positions[r]`` of the text (the prompt's first token has position 0). ``ids_RV`` says which token ids the places stand for
    (it may be of shape V); None: a place is the id. The draft noise depends on seed, position, id and, with replacement, child:
    distributions of one row at one position may share it, since a walk tries the children of one node at each position.
    """
    device = log_q_RV.device
    distributions, vocab = log_q_RV.shape
    ids = torch.arange(vocab, device=device) if ids_RV is None else ids_RV
    ids_RV = ids.expand(distributions, vocab)
    positions_R = torch.tensor(list(positions), dtype=torch.int64, device=device)
    places_RC = torch.full((distributions, count), -1, dtype=torch.int64, device=device)
    for replacement in (False, True):
        mine = [r for r, row in enumerate(rows) if row.draft_replacement == replacement]
        if not mine:
            continue
        # the c largest of log q + G are c draws without replacement, in order; with replacement each is the largest of its own G
        noises, each = (count, 1) if replacement else (1, min(count, vocab))
        seeds = [stream(rows[r].seed, "draft", child) for r in mine for child in range(noises)]
        again = torch.tensor(mine, device=device).repeat_interleave(noises)
        noise_MV = gumbel(torch.tensor(seeds, dtype=torch.int64, device=device), positions_R[again], ids_RV[again])
        best = (log_q_RV[again].double() + noise_MV).topk(each, sorted=True)
        found = best.indices.masked_fill(best.values == -torch.inf, -1).view(len(mine), -1)
        places_RC[torch.tensor(mine, device=device)[:, None], torch.arange(found.shape[1], device=device)] = found
    return places_RC
