"""What the base model itself thought of the tokens that were emitted.

Shapes: M emitted tokens, V vocabulary, C most likely ones.
"""

from collections.abc import Sequence

import torch

from headstart.completion import TokenLogprob
from headstart.sampling.filters import stable_top


def token_logprobs(logits_MV: torch.Tensor, token_ids: Sequence[int], top: int) -> tuple[TokenLogprob, ...]:
    """Of ``token_ids[i]`` under ``logits_MV[i]``, with the ``top`` most likely tokens of that place; equal ones by id.

    Natural logarithms of the model's raw distribution: before processors, temperature and filters. In float32, or the logits'
    own precision where that is higher.
    """
    precision = torch.promote_types(logits_MV.dtype, torch.float32)
    log_p_MV = torch.log_softmax(logits_MV.to(precision), -1)
    ids_M = torch.tensor(token_ids, dtype=torch.int64, device=log_p_MV.device)
    own_M = log_p_MV.gather(1, ids_M[:, None])[:, 0].tolist()
    if not top:
        return tuple(TokenLogprob(token, log_p) for token, log_p in zip(token_ids, own_M, strict=True))
    ids_MC, values_MC = stable_top(log_p_MV, min(top, log_p_MV.shape[1]))
    best = [tuple(zip(ids, values, strict=True)) for ids, values in zip(ids_MC.tolist(), values_MC.tolist(), strict=True)]
    return tuple(TokenLogprob(token, log_p, likely) for token, log_p, likely in zip(token_ids, own_M, best, strict=True))
