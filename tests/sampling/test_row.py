"""The one rule by which a token is chosen."""

from collections.abc import Sequence

import pytest
import torch
from scipy.stats import chi2

from headstart.sampling.filters import survivors
from headstart.sampling.noise import gumbel
from headstart.sampling.params import SamplingParams
from headstart.sampling.processors import MinNewTokens
from headstart.sampling.row import RowSampling, choose

HOT = SamplingParams(temperature=1.0)


def row(params: SamplingParams = HOT, seed: int = 0, prompt: int = 3, generated: Sequence[int] = ()) -> RowSampling:
    return RowSampling(params=params, seed=seed, prompt_length=prompt, generated=list(generated))


def test_greedy_is_the_argmax_and_ties_go_to_the_lowest_id() -> None:
    logits = torch.tensor([[0.0, 5.0, 5.0], [7.0, 7.0, 7.0], [-1.0, -2.0, 0.5]])
    assert choose(logits, [row(SamplingParams())] * 3, [()] * 3) == [1, 0, 2]


def test_sampled_is_the_argmax_of_log_p_plus_noise_at_the_next_position() -> None:
    """3 ids of prompt, 2 generated, 1 on the path: the token to choose stands at position 6."""
    torch.manual_seed(0)
    logits = torch.randn(1, 50)
    noise = gumbel(torch.tensor([9]), torch.tensor([6]), torch.arange(50)[None])
    expected = int((torch.log_softmax(logits, -1) + noise).argmax())
    assert choose(logits, [row(seed=9, generated=[4, 4])], [[1]]) == [expected]


def test_generated_ids_and_ids_on_the_path_count_alike() -> None:
    """A token at a position is the same whether it is reached by a path of the tree or one by one."""
    torch.manual_seed(1)
    logits = torch.randn(1, 500)
    for seed in range(20):
        by_path = choose(logits, [row(seed=seed, generated=[5])], [[6, 7]])
        one_by_one = choose(logits, [row(seed=seed, generated=[5, 6, 7])], [[]])
        assert by_path == one_by_one


def test_noise_is_by_id_and_not_by_rank() -> None:
    """Top-k leaves ids 40 to 49 of 50; the draw must use the noise of those ids."""
    logits = torch.cat([torch.zeros(40), torch.full((10,), 9.0)])[None]
    for seed in range(20):
        noise = gumbel(torch.tensor([seed]), torch.tensor([3]), torch.arange(40, 50)[None])
        params = SamplingParams(temperature=1.0, top_k=10)
        assert choose(logits, [row(params, seed=seed)], [()]) == [40 + int(noise.argmax())]


def test_the_seed_decides() -> None:
    """50 equal tokens and 100 seeds: the draws differ (all equal has a chance of 50**-99), and each repeats."""
    logits = torch.zeros(1, 50)
    drawn = [choose(logits, [row(seed=seed)], [()])[0] for seed in range(100)]
    assert len(set(drawn)) > 20
    assert drawn == [choose(logits, [row(seed=seed)], [()])[0] for seed in range(100)]


@pytest.mark.parametrize(
    "params",
    [
        SamplingParams(temperature=1.0),
        SamplingParams(temperature=0.6),
        SamplingParams(temperature=1.0, top_k=4),
        SamplingParams(temperature=1.3, top_p=0.8),
        SamplingParams(temperature=1.0, min_p=0.1),
    ],
    ids=["plain", "cold", "top_k", "top_p", "min_p"],
)
def test_draws_follow_the_filtered_distribution(params: SamplingParams) -> None:
    """Chi-square over 5,000 seeds. False alarms under other seeds: 1e-6 a case, 5 cases."""
    logits = torch.tensor([2.0, 1.5, 0.0, 1.0, -0.5, 1.2, 0.8, -1.0])
    draws = 5_000
    tokens = choose(logits.expand(draws, -1), [row(params, seed=seed) for seed in range(draws)], [()] * draws)
    ids, log_p = survivors(logits[None], params)
    p = torch.zeros(8, dtype=torch.float64).scatter(0, ids[0], log_p[0].exp().double())
    observed = torch.bincount(torch.tensor(tokens), minlength=8).double()
    assert observed[p == 0].sum() == 0
    expected = p[p > 0] * draws
    statistic = float(((observed[p > 0] - expected) ** 2 / expected).sum())
    assert chi2.sf(statistic, len(expected) - 1) > 1e-6


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    """Seven rows with mixed parameters, processors and places: together, alone, in pairs and backwards."""
    torch.manual_seed(2)
    logits = torch.randn(7, 2000).to(torch.bfloat16)
    rows = [
        row(SamplingParams()),
        row(SamplingParams(temperature=1.0), seed=4),
        row(SamplingParams(temperature=1.0), seed=4, generated=[1]),
        row(SamplingParams(temperature=1.0, top_p=0.95), seed=5),
        row(SamplingParams(temperature=1.0, top_p=0.95), seed=6),
        row(SamplingParams(temperature=0.9, top_k=40, min_p=0.05), seed=7),
        row(SamplingParams(), seed=8),
    ]
    rows[6].processors.append(MinNewTokens(5, [int(logits[6].argmax())]))
    paths: list[list[int]] = [[], [3], [], [], [9, 9], [], []]
    together = choose(logits, rows, paths)
    assert together[6] != int(logits[6].argmax())
    for order in ([r] for r in range(7)):
        assert choose(logits[order], [rows[r] for r in order], [paths[r] for r in order]) == [together[r] for r in order]
    for order in ([6, 5, 4, 3, 2, 1, 0], [3, 1], [0, 4], [5, 6]):
        assert choose(logits[order], [rows[r] for r in order], [paths[r] for r in order]) == [together[r] for r in order]


def test_processors_see_generated_ids_and_the_path() -> None:
    seen: list[list[int]] = []

    def forbid_what_was_said(logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        seen.append(list(generated))
        return logits_V.index_fill(-1, torch.tensor(generated), -torch.inf)

    greedy = row(SamplingParams(), generated=[3])
    greedy.processors.append(forbid_what_was_said)
    assert not greedy.plain_argmax
    assert choose(torch.tensor([[0.0, 1.0, 2.0, 3.0]]), [greedy], [[2]]) == [1]
    assert seen == [[3, 2]]


def test_processors_run_in_order_and_before_temperature() -> None:
    """(1 + 1) * 10 = 20 and not 1 * 10 + 1; the other token's 19 then loses, as it does at any temperature close to 0."""
    cold = row(SamplingParams(temperature=1e-6))
    first, other = torch.tensor([1.0, 0.0]), torch.tensor([10.0, 1.0])
    cold.processors += [lambda logits_V, _: logits_V + first, lambda logits_V, _: logits_V * other]
    assert choose(torch.tensor([[1.0, 19.0]]), [cold], [()]) == [0]
