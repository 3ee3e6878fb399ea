"""The filters, against a reference that is written for one row with loops."""

import math
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from transformers import (
    LogitsProcessorList,
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
    TypicalLogitsWarper,
)

from headstart.sampling.filters import survivors
from headstart.sampling.params import SamplingParams


def naive(logits: torch.Tensor, params: SamplingParams) -> dict[int, float]:
    """Probability of each surviving id of one row; empty where rounding decides whether an id stays."""
    scaled = (logits.float() / params.temperature).double().tolist()
    order = sorted(range(len(scaled)), key=lambda token: (-scaled[token], token))
    if params.top_k is not None:
        order = order[: params.top_k]
    weights = {token: math.exp(scaled[token] - scaled[order[0]]) for token in order}
    if params.top_p < 1.0:
        total, before = sum(weights.values()), 0.0
        kept = {}
        for token in order:
            if before > 0.0 and abs(before / total - params.top_p) < 1e-5:
                return {}
            if before / total < params.top_p:
                kept[token] = weights[token]
            before += weights[token]
        weights = kept
    if params.min_p > 0.0:
        if any(abs(weight / params.min_p - 1) < 1e-5 for weight in weights.values()):
            return {}
        weights = {token: weight for token, weight in weights.items() if weight >= params.min_p}
    return {token: weight / sum(weights.values()) for token, weight in weights.items()}


def by_id(logits_RV: torch.Tensor, params: SamplingParams) -> torch.Tensor:
    """Log-probabilities R x V, -inf for what was dropped."""
    ids_RC, log_p_RC = survivors(logits_RV, params)
    assert ids_RC.dtype == torch.int64
    assert log_p_RC.dtype == torch.float32
    assert bool((ids_RC[:, 1:] > ids_RC[:, :-1]).all()), "the candidates come by id"
    return torch.full(logits_RV.shape, -torch.inf).scatter(1, ids_RC, log_p_RC)


def kept(logits: list[float], **params: float) -> dict[int, float]:
    """What survives of one row, with its probability."""
    log_p = by_id(torch.tensor([logits]), SamplingParams(**({"temperature": 1.0} | params)))[0]  # type: ignore[arg-type]
    return {token: math.exp(value) for token, value in enumerate(log_p.tolist()) if math.exp(value) > 0}


def logs(*p: float) -> list[float]:
    return [math.log(value) for value in p]


@pytest.fixture
def two_threads() -> Iterator[None]:
    """As on a user's machine; some of torch's sums are cut by thread where a row stands alone."""
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


PARAMS = st.builds(
    SamplingParams,
    temperature=st.sampled_from([0.3, 0.7, 1.0, 1.7]),
    top_k=st.sampled_from([None, 1, 2, 5, 100]),
    top_p=st.sampled_from([1.0, 0.95, 0.6, 0.3, 1e-6]),
    min_p=st.sampled_from([0.0, 0.05, 0.4]),
)
DTYPES = st.sampled_from([torch.float32, torch.bfloat16])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.integers(-12, 12), min_size=1, max_size=12), PARAMS, DTYPES)
def test_survivors_equal_the_reference(quarters: list[int], params: SamplingParams, dtype: torch.dtype) -> None:
    """Logits are multiples of 1/4, which bfloat16 holds exactly, so that ties are frequent."""
    logits = torch.tensor(quarters).to(dtype) / 4
    expected = naive(logits, params)
    assume(expected)
    log_p = by_id(logits[None], params)[0]
    assert {token for token, value in enumerate(log_p.tolist()) if value > -math.inf} == set(expected)
    for token, p in expected.items():
        assert math.exp(log_p[token]) == pytest.approx(p, rel=1e-5)


def test_no_filter_is_the_models_own_distribution() -> None:
    assert kept(logs(0.5, 0.3, 0.2)) == pytest.approx({0: 0.5, 1: 0.3, 2: 0.2})


def test_temperature_divides_the_logits() -> None:
    """At temperature 1/2 probabilities are squared: .25 and .0625 of .3125."""
    assert kept(logs(0.5, 0.25), temperature=0.5) == pytest.approx({0: 0.8, 1: 0.2})


def test_ties_at_the_edge_keep_the_lowest_ids() -> None:
    """In bfloat16 256 and 257 are one number: the third and the fifth id tie, and top-k 2 has room for one of them."""
    assert torch.tensor(257.0, dtype=torch.bfloat16) == 256
    logits = torch.tensor([[0.0, 300.0, 257.0, 1.0, 256.0]], dtype=torch.bfloat16)
    assert survivors(logits, SamplingParams(temperature=1.0, top_k=2))[0][0].tolist() == [1, 2]
    assert kept([0.0, 0.0, 0.0, 0.0], top_k=2) == pytest.approx({0: 0.5, 1: 0.5})
    assert kept([0.0, 1.0, 0.0, 1.0, 1.0], top_p=0.4) == pytest.approx({1: 0.5, 3: 0.5})  # .284 is not enough, .568 is


def test_more_ties_than_expected() -> None:
    """3,000 equal logits: more than are looked at beside the kept ones. 1,501 of them are the first to reach 0.5002."""
    assert list(kept([0.0] * 3000, top_k=10)) == list(range(10))
    assert list(kept([0.0] * 3000, top_p=0.5002)) == list(range(1501))
    assert list(kept([0.0] * 1500 + [1.0] + [0.0] * 1500, top_k=10)) == [*range(9), 1500]


def test_top_p_keeps_the_smallest_set_that_reaches_it() -> None:
    """Powers of two are exact: .5 reaches .5 alone; a little more needs the second."""
    p = logs(0.5, 0.25, 0.125, 0.125)
    assert list(kept(p, top_p=0.5)) == [0]
    assert list(kept(p, top_p=0.5001)) == [0, 1]
    assert list(kept(p, top_p=0.8)) == [0, 1, 2]


@pytest.mark.parametrize("top_p", [1e-4, 1e-12, 1e-300])
def test_a_tiny_top_p_keeps_the_most_likely(top_p: float) -> None:
    assert kept(logs(0.3, 0.4, 0.3), top_p=top_p) == {1: 1.0}
    assert kept([0.0] * 3000, top_p=top_p) == {0: 1.0}


def test_min_p_is_a_share_of_the_most_likely() -> None:
    """.2 of .5 is .1: .09 goes."""
    assert kept(logs(0.5, 0.3, 0.11, 0.09), min_p=0.2) == pytest.approx({0: 0.5 / 0.91, 1: 0.3 / 0.91, 2: 0.11 / 0.91})


def test_top_p_comes_after_top_k() -> None:
    """Of the two most likely, .4 and .3, the first holds .57, enough for .55. Before top-k it would take both to hold .55."""
    p = logs(0.4, 0.3, 0.2, 0.1)
    assert list(kept(p, top_k=2, top_p=0.55)) == [0]
    assert list(kept(p, top_p=0.55)) == [0, 1]


def test_temperature_comes_before_top_p_and_min_p() -> None:
    """At temperature 1/2 the shares of .5, .3, .2 are .66, .24, .11: .65 needs one of them, at temperature 1 two."""
    p = logs(0.5, 0.3, 0.2)
    assert list(kept(p, temperature=0.5, top_p=0.65)) == [0]
    assert list(kept(p, temperature=1.0, top_p=0.65)) == [0, 1]
    assert list(kept(p, temperature=0.5, min_p=0.3)) == [0, 1]  # .36 of the first stays, .16 goes
    assert list(kept(p, temperature=1.0, min_p=0.3)) == [0, 1, 2]  # .6 and .4


def test_forbidden_tokens_stay_forbidden() -> None:
    """A processor's -inf: fewer finite logits than top-k asks for."""
    logits = [-math.inf, 0.0, -math.inf, 0.0]
    for params in ({}, {"top_k": 3}, {"top_p": 0.99}, {"min_p": 0.1}):
        assert kept(logits, **params) == pytest.approx({1: 0.5, 3: 0.5})


@pytest.mark.parametrize("temperature", [1e-12, 1e-40, 1e-300])
@pytest.mark.parametrize("filters", [{}, {"top_k": 2}, {"top_p": 0.9}, {"min_p": 0.1}])
def test_a_very_cold_draw_is_the_most_likely_token(temperature: float, filters: dict[str, float]) -> None:
    assert kept([10.0, 30.0, -20.0], temperature=temperature, **filters) == {1: 1.0}


def flat_and_peaked(vocab: int = 3000) -> torch.Tensor:
    """Rows 0, 2 and 4 have their 0.9 among a few tokens; rows 1 and 3 need more than the first look's 1,024."""
    torch.manual_seed(3)
    logits = torch.randn(5, vocab) * torch.tensor([[6.0], [0.1], [5.0], [0.5], [4.0]])
    return logits.to(torch.bfloat16)


def test_a_flat_row_is_looked_at_whole() -> None:
    logits = flat_and_peaked()
    params = SamplingParams(temperature=1.0, top_p=0.9)
    counts = (by_id(logits, params) > -torch.inf).sum(-1).tolist()
    assert [count > 1024 for count in counts] == [False, True, False, True, False]
    for row in range(5):
        expected = naive(logits[row], params)
        assert expected
        got = by_id(logits[row : row + 1], params)[0]
        assert {token for token, value in enumerate(got.tolist()) if value > -math.inf} == set(expected)


@pytest.mark.parametrize(
    "filters",
    [{}, {"top_k": 50}, {"top_p": 0.9}, {"min_p": 0.02}, {"top_k": 90, "top_p": 0.8, "min_p": 1e-3}, {"top_p": 0.9, "min_p": 0.02}],
)
@pytest.mark.parametrize("vocab", [100, 3000, 3001])
@pytest.mark.usefixtures("two_threads")
def test_a_row_does_not_depend_on_its_neighbours(vocab: int, filters: dict[str, float]) -> None:
    """To the bit: alone, and among rows of which some take the long way."""
    logits = flat_and_peaked(vocab)
    params = SamplingParams(temperature=0.8, **filters)  # type: ignore[arg-type]
    together = by_id(logits, params)
    for row in range(5):
        assert torch.equal(by_id(logits[row : row + 1], params)[0], together[row])
    assert torch.equal(by_id(logits[[3, 0]], params), together[[3, 0]])


@pytest.mark.usefixtures("two_threads")
def test_the_edge_of_top_p_does_not_depend_on_neighbours() -> None:
    """A vocabulary that is cut by thread where a row stands alone; a sum over it would then differ in its last bit, and with
    it the token on which top-p ends. So top-p is put onto that very edge: the largest value that keeps one token, and the next."""
    torch.manual_seed(0)
    logits = torch.randn(100, 40_000) * 2
    summed = logits.logsumexp(-1)
    # rows of which torch's own sum is known to differ; where it never does, any row will do
    differing = [r for r in range(97) if logits[r : r + 1].logsumexp(-1) != summed[r]]

    def survive(rows: torch.Tensor, top_p: float) -> list[int]:
        return (by_id(rows, SamplingParams(temperature=1.0, top_p=top_p)) > -torch.inf).sum(-1).tolist()

    for row in (differing or [0])[:2]:
        low, high = 0.0, 0.5
        for _ in range(34):  # to the resolution of float32
            middle = (low + high) / 2
            low, high = (low, middle) if survive(logits[row : row + 1], middle)[0] >= 2 else (middle, high)
        assert [survive(logits[row : row + 4], top_p)[0] for top_p in (low, high)] == [
            survive(logits[row : row + 1], top_p)[0] for top_p in (low, high)
        ]


def test_typical_p_keeps_what_is_nearest_to_the_entropy() -> None:
    """The entropy of .5, .3, .1, .1 is 1.17 nats; surprises are .69, 1.20, 2.30, 2.30, so distances .48, .04, 1.13, 1.13. The
    second comes first (0.3), then the first (0.8 in all), then the third (0.9), then the fourth: of equal ones the lower id."""
    row = logs(0.5, 0.3, 0.1, 0.1)
    assert list(kept(row, typical_p=0.2)) == [1]
    assert list(kept(row, typical_p=0.29)) == [1]
    assert list(kept(row, typical_p=0.31)) == [0, 1]
    assert list(kept(row, typical_p=0.85)) == [0, 1, 2]
    assert kept(row, typical_p=0.7) == pytest.approx({0: 0.625, 1: 0.375})


def test_typical_p_comes_after_the_others() -> None:
    """Of .5, .3, .1, .1 top-k keeps the first two, .625 and .375: entropy .66, surprises .47 and .98. Now the first is nearest."""
    assert list(kept(logs(0.5, 0.3, 0.1, 0.1), top_k=2, typical_p=0.2)) == [0]


@pytest.mark.parametrize(
    "others", [{}, {"top_k": 40}, {"top_p": 0.9}, {"min_p": 0.02}, {"top_k": 60, "top_p": 0.95, "min_p": 0.01}]
)
@pytest.mark.parametrize("mass", [0.1, 0.5, 0.95])
def test_the_tokens_of_transformers_warpers(others: dict[str, Any], mass: float) -> None:
    """In transformers' order; random logits have no ties, and no sum comes near an edge for this seed."""
    torch.manual_seed(5)
    logits = torch.randn(6, 3000) * 3
    warpers = [TemperatureLogitsWarper(1.3)]
    warpers += [TopKLogitsWarper(others["top_k"])] if "top_k" in others else []
    warpers += [TopPLogitsWarper(others["top_p"])] if "top_p" in others else []
    warpers += [MinPLogitsWarper(others["min_p"])] if "min_p" in others else []
    scores = LogitsProcessorList([*warpers, TypicalLogitsWarper(mass)])(torch.zeros(6, 1, dtype=torch.int64), logits.clone())
    ours = by_id(logits, SamplingParams(temperature=1.3, typical_p=mass, **others))
    assert torch.equal(ours > -torch.inf, scores > -torch.inf)
    torch.testing.assert_close(ours, torch.log_softmax(scores, -1))
