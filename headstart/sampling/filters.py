"""Which tokens survive temperature, top-k, top-p, min-p and typical-p, and with what probability.

Shapes: R rows (all with the same parameters), V vocabulary, C candidates.
"""

import math

import torch

from headstart.sampling.params import SamplingParams

# A top-p set is nearly always inside the most likely thousand tokens: look there before sorting the whole vocabulary.
_FIRST_LOOK = 1024
# Logits of bfloat16 models tie often; so many more are looked at to see all that tie with the last one kept.
_TIES = 64
COLDEST = 1e-20
"""A temperature below it counts as this: dividing by it overflows, and the draw is the most likely token long before."""


def survivors(logits_RV: torch.Tensor, params: SamplingParams) -> tuple[torch.Tensor, torch.Tensor]:
    """The tokens that can be drawn and their log-probabilities after all filters.

    The order is temperature, top-k, top-p, min-p, typical-p. All sorts are stable: among equal logits the lowest id stays.
    ``params.temperature`` must be above 0. Returns ``ids_RC`` (int64, ascending) and ``log_p_RC`` (float32, normalised;
    -inf for a candidate that was dropped). A row's result does not depend on the other rows.
    """
    scaled_RV = logits_RV.float() / max(params.temperature, COLDEST)
    if params.top_k is None and params.top_p == 1.0 and params.min_p == 0.0:
        if params.typical_p < 1.0:
            scaled_RV = scaled_RV.masked_fill(_untypical(scaled_RV, params.typical_p), -torch.inf)
        ids_RV = torch.arange(scaled_RV.shape[1], device=scaled_RV.device).expand(scaled_RV.shape)
        return ids_RV, torch.log_softmax(scaled_RV, -1)
    vocab = scaled_RV.shape[1]
    if params.top_k is not None:
        ids_RC, scaled_RC = stable_top(scaled_RV, min(params.top_k, vocab))
        p_RC = torch.softmax(scaled_RC, -1)
    else:
        ids_RC, scaled_RC = stable_top(scaled_RV, min(_FIRST_LOOK, vocab) if params.top_p < 1.0 else vocab)
        p_RC = _shares(scaled_RV, ids_RC)
        enough_R = p_RC.sum(-1) >= params.top_p
        if params.top_p < 1.0 and not bool(enough_R.all()) and scaled_RC.shape[1] < vocab:
            return _looking_further(logits_RV, scaled_RV, enough_R, params)
    return _cut(ids_RC, scaled_RC, p_RC, params)


def _looking_further(
    logits_RV: torch.Tensor, scaled_RV: torch.Tensor, enough_R: torch.Tensor, params: SamplingParams
) -> tuple[torch.Tensor, torch.Tensor]:
    """The rows whose most likely thousand tokens do not reach top-p are sorted whole; the others stay as they are."""
    rows, vocab = scaled_RV.shape
    ids_RC = torch.arange(vocab, device=scaled_RV.device).repeat(rows, 1)
    log_p_RC = torch.full((rows, vocab), -torch.inf, device=scaled_RV.device)
    if bool(enough_R.any()):
        few_ids, few_log_p = survivors(logits_RV[enough_R], params)
        log_p_RC[enough_R] = log_p_RC[enough_R].scatter(1, few_ids, few_log_p)
    short_RV = scaled_RV[~enough_R]
    ids, scaled = stable_top(short_RV, vocab)
    log_p_RC[~enough_R] = _cut(ids, scaled, _shares(short_RV, ids), params)[1]
    return ids_RC, log_p_RC


def _shares(scaled_RV: torch.Tensor, ids_RC: torch.Tensor) -> torch.Tensor:
    """The candidates' probabilities among all tokens."""
    # not by logsumexp: it sums a row that stands alone in parts, one a thread, so that neighbours would change its bits
    return torch.log_softmax(scaled_RV, -1).gather(1, ids_RC).exp()


def _cut(
    ids_RC: torch.Tensor, scaled_RC: torch.Tensor, p_RC: torch.Tensor, params: SamplingParams
) -> tuple[torch.Tensor, torch.Tensor]:
    """Top-p, min-p and typical-p on candidates that come most likely first; the result comes by id."""
    if params.top_p < 1.0:
        beyond_RC = p_RC.cumsum(-1) - p_RC >= params.top_p
        beyond_RC[:, 0] = False  # a tiny top_p still keeps the most likely token
        scaled_RC = scaled_RC.masked_fill(beyond_RC, -torch.inf)
    if params.min_p > 0.0:
        scaled_RC = scaled_RC.masked_fill(scaled_RC - scaled_RC[:, :1] < math.log(params.min_p), -torch.inf)
    if params.typical_p < 1.0:
        scaled_RC = scaled_RC.masked_fill(_untypical(scaled_RC, params.typical_p), -torch.inf)
    ids_RC, order_RC = ids_RC.sort(-1)
    return ids_RC, torch.log_softmax(scaled_RC, -1).gather(1, order_RC)


def _untypical(scaled_RC: torch.Tensor, mass: float) -> torch.Tensor:
    """Where a candidate is not among those whose surprise is nearest to the entropy (Meister et al. 2023)."""
    log_p_RC = torch.log_softmax(scaled_RC, -1)
    # by a running sum: like a softmax, and unlike a plain sum, it takes each row in the same order whatever rows stand beside it
    entropy_R1 = torch.special.entr(log_p_RC.exp()).cumsum(-1)[:, -1:]
    order_RC = torch.argsort((-log_p_RC - entropy_R1).abs(), dim=-1, stable=True)
    p_RC = log_p_RC.gather(1, order_RC).exp()
    beyond_RC = p_RC.cumsum(-1) - p_RC >= mass
    beyond_RC[:, 0] = False
    return torch.zeros_like(beyond_RC).scatter(1, order_RC, beyond_RC)


def stable_top(scaled_RV: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The k largest of each row, descending, equal values by id. (``topk`` alone picks among equal values as it likes.)"""
    vocab = scaled_RV.shape[1]
    wide = min(k + _TIES, vocab)
    values_RC, ids_RC = torch.topk(scaled_RV, wide, sorted=True)
    if wide < vocab and not bool((values_RC[:, -1] < values_RC[:, k - 1]).all()):
        wide = vocab  # more ties than expected
    if wide == vocab:
        values_RC, ids_RC = torch.sort(scaled_RV, dim=-1, descending=True, stable=True)
        return ids_RC[:, :k], values_RC[:, :k]
    ids_RC, order_RC = ids_RC.sort(-1)
    values_RC, order_RC = torch.sort(values_RC.gather(1, order_RC), dim=-1, descending=True, stable=True)
    return ids_RC.gather(1, order_RC)[:, :k], values_RC[:, :k]
