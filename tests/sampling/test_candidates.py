"""Candidates drawn from a drafter's distribution.

Chi-square tests fail for a right drawing with probability 1e-6 for a fresh set of seeds, and never for these fixed ones.
"""

from collections import Counter
from itertools import permutations

import pytest
import torch
from scipy.stats import chisquare

from headstart.sampling.candidates import candidate_log_q, draw_candidates
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling

RARE, DRAWS = 1e-6, 2000
Q_V = torch.tensor([0.4, 0.3, 0.2, 0.1])


def rows(count: int, *, replacement: bool = False, temperature: float = 1.0) -> list[RowSampling]:
    return [
        RowSampling(
            params=SamplingParams(),
            seed=seed,
            prompt_length=1,
            draft_temperature=temperature,
            draft_replacement=replacement,
        )
        for seed in range(count)
    ]


def drawn(children: int, *, replacement: bool, ids_V: torch.Tensor | None = None) -> Counter[tuple[int, ...]]:
    log_q_RV = Q_V.log().expand(DRAWS, -1)
    places = draw_candidates(log_q_RV, rows(DRAWS, replacement=replacement), [7] * DRAWS, children, ids_V)
    return Counter(map(tuple, places.tolist()))


def p_value(counts: Counter[tuple[int, ...]], p_by_key: dict[tuple[int, ...], float]) -> float:
    assert set(counts) <= set(p_by_key)
    return float(chisquare([counts[key] for key in p_by_key], [DRAWS * p for p in p_by_key.values()]).pvalue)


@pytest.mark.parametrize("ids_V", [None, torch.tensor([50, 3, 700, 9])])
def test_without_replacement_each_is_drawn_from_what_is_left(ids_V: torch.Tensor | None) -> None:
    q = [0.4, 0.3, 0.2, 0.1]
    p_by_key = {(a, b): q[a] * q[b] / (1 - q[a]) for a, b in permutations(range(4), 2)}
    assert p_value(drawn(2, replacement=False, ids_V=ids_V), p_by_key) > RARE


def test_with_replacement_they_are_independent() -> None:
    q = [0.4, 0.3, 0.2, 0.1]
    assert p_value(drawn(2, replacement=True), {(a, b): q[a] * q[b] for a in range(4) for b in range(4)}) > RARE


def test_no_more_than_there_are() -> None:
    """Two tokens have a chance; the third place stays empty, and with replacement it does not."""
    log_q_RV = torch.tensor([[0.5, 0.0, 0.5]]).log()
    assert sorted(draw_candidates(log_q_RV, rows(1), [0], 3)[0].tolist()) == [-1, 0, 2]
    assert draw_candidates(log_q_RV, rows(1), [0], 5)[0, 3:].tolist() == [-1, -1]  # more than the vocabulary has
    assert 1 not in draw_candidates(log_q_RV, rows(1, replacement=True), [0], 5)[0].tolist()


def test_a_row_draws_alone_what_it_draws_among_others() -> None:
    many = [*rows(3), *rows(3, replacement=True), *rows(2)]
    log_q_RV = torch.log_softmax(torch.randn(8, 20, generator=torch.Generator().manual_seed(0)), -1)
    together = draw_candidates(log_q_RV, many, range(8), 4)
    for r, row in enumerate(many):
        assert torch.equal(draw_candidates(log_q_RV[r : r + 1], [row], [r], 4)[0], together[r])


def test_q_at_a_temperature() -> None:
    logits = Q_V.log()[None] + 3.0
    assert candidate_log_q(logits, rows(1)).exp()[0].tolist() == pytest.approx(Q_V.tolist())
    half = Q_V**2 / (Q_V**2).sum()  # temperature 0.5 squares
    assert candidate_log_q(logits, rows(1, temperature=0.5)).exp()[0].tolist() == pytest.approx(half.tolist())
    # nearly frozen: the likeliest is certain, and yet there are as many candidates as tokens, the likeliest first
    cold = candidate_log_q(logits, rows(1, temperature=1e-30))
    assert cold.exp()[0].tolist() == pytest.approx([1, 0, 0, 0])
    assert sorted(draw_candidates(cold, rows(1), [0], 4)[0].tolist()) == [0, 1, 2, 3]
    assert draw_candidates(cold, rows(1), [0], 1).tolist() == [[0]]


def test_broken_logits_make_a_distribution_all_the_same() -> None:
    nan, inf = torch.nan, torch.inf
    q = candidate_log_q(torch.tensor([[nan, 0.0, 0.0], [nan, nan, nan], [-inf, 1.0, 1.0], [-inf, -inf, -inf]]), rows(4)).exp()
    third = [1 / 3] * 3
    assert torch.allclose(q, torch.tensor([[0, 0.5, 0.5], third, [0, 0.5, 0.5], third]))
