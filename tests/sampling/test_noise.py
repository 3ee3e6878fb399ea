"""The noise: known values, its distribution, its independence, its tails.

Statistical tests use fixed seeds, so that they always give the same answer. Each false-alarm rate says how often a perfect
noise would fail the test under another choice of seeds.
"""

import math

import pytest
import torch
from scipy.stats import chi2, kstest

from headstart.sampling.noise import fold, fresh_seed, gumbel, stream, uniform

GOLDEN = 0x9E3779B97F4A7C15
MIX_1, MIX_2 = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORD = 1 << 64
RARE = 1e-6  # a perfect noise fails one test of a million


def ints(*values: int) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.int64)


def chi_square_p(observed: torch.Tensor, expected: torch.Tensor) -> float:
    """The chance that a perfect noise strays at least so far from the expected counts."""
    assert float(expected.min()) > 5, "too few expected for the chi-square approximation"
    statistic = float(((observed - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, observed.numel() - 1))


def pairs(first_M: torch.Tensor, second_M: torch.Tensor, bins: int = 16) -> tuple[torch.Tensor, torch.Tensor]:
    """How often each pair of bins of two uniform numbers occurs, and how often it should where they are independent."""
    cell_M = (first_M * bins).long() * bins + (second_M * bins).long()
    observed = torch.bincount(cell_M, minlength=bins * bins).double()
    return observed, torch.full_like(observed, len(first_M) / bins**2)


def test_known_values() -> None:
    """At seed 0 and position 0 the hash is splitmix64 from state 0; its first three outputs are published. The upper half of
    each is used. A change of these numbers changes what every seed has ever written."""
    top = [0xE220A839, 0x6E789E6A, 0x06C45D18]
    got = uniform(ints(0), ints(0), ints(0, 1, 2)[None])
    assert got.tolist() == [[(word + 0.5) / 2**32 for word in top]]
    assert got.dtype == torch.float64


def test_known_values_elsewhere() -> None:
    """The same hash written with Python's own integers."""

    def mix(x: int) -> int:
        x = ((x ^ (x >> 30)) * MIX_1) % WORD
        x = ((x ^ (x >> 27)) * MIX_2) % WORD
        return x ^ (x >> 31)

    position_stream = -4417276706812531889 % WORD
    for seed, position, token in [(7, 12, 40000), (-3, 0, 0), (2**63 - 1, 131071, 262143), (-(2**63), 1, 1)]:
        key = mix((mix(seed * GOLDEN % WORD) + position * position_stream) % WORD)
        word = mix((key + (token + 1) * GOLDEN) % WORD) >> 32
        assert uniform(ints(seed), ints(position), ints(token)[None]).item() == (word + 0.5) / 2**32


def test_gumbel_is_minus_log_of_minus_log_of_the_uniform() -> None:
    """-log(-log(1 - u)): the largest uniform number gives the smallest noise."""
    u = uniform(ints(3), ints(4), torch.arange(1000)[None])
    expected = [-math.log(-math.log1p(-value)) for value in u[0].tolist()]
    assert gumbel(ints(3), ints(4), torch.arange(1000)[None])[0].tolist() == pytest.approx(expected, rel=1e-12)


def test_tails_are_finite() -> None:
    """The two ids (made by running the hash backwards) whose 32 bits are all zeros and all ones: u = 2**-33 and 1 - 2**-33.

    -log(-log(1 - 2**-33)) = 33 log 2 = 22.87, and -log(-log(2**-33)) = -log(33 log 2) = -3.13: finite, and no id can do better.
    """

    def unshift(x: int, bits: int) -> int:
        found = x
        for _ in range(64 // bits + 1):
            found = x ^ (found >> bits)
        return found

    def unmix(x: int) -> int:
        x = unshift(x, 31) * pow(MIX_2, -1, WORD) % WORD
        x = unshift(x, 27) * pow(MIX_1, -1, WORD) % WORD
        return unshift(x, 30)

    ids = [(unmix(word) * pow(GOLDEN, -1, WORD) - 1) % WORD for word in (0, WORD - 1)]
    signed = ints(*[token - WORD if token >= WORD // 2 else token for token in ids])
    assert uniform(ints(0), ints(0), signed[None]).tolist() == [[2.0**-33, 1 - 2.0**-33]]
    assert gumbel(ints(0), ints(0), signed[None])[0].tolist() == pytest.approx([33 * math.log(2), -math.log(33 * math.log(2))])


def test_uniform_numbers_are_inside_the_open_interval_and_flat() -> None:
    """Kolmogorov-Smirnov on 49,152 ids, a whole vocabulary. False alarms: 1e-6."""
    u = uniform(ints(11), ints(5), torch.arange(49152)[None])[0]
    assert float(u.min()) > 0
    assert float(u.max()) < 1
    assert kstest(u.numpy(), "uniform").pvalue > RARE


@pytest.mark.parametrize("varied", ["seed", "position", "both"])
@pytest.mark.parametrize(
    "p",
    [
        [0.4, 0.25, 0.15, 0.1, 0.05, 0.03, 0.02],
        [0.125] * 8,
        [0.96, 0.01, 0.01, 0.01, 0.005, 0.005],
    ],
    ids=["falling", "flat", "peaked"],
)
def test_the_argmax_of_log_p_plus_noise_is_drawn_from_p(p: list[float], varied: str) -> None:
    """Chi-square over 60,000 draws that differ in the seed, the position or both. False alarms: 1e-6 a case, 9 cases."""
    draws = 60_000
    counter = torch.arange(draws)
    fixed = torch.full((draws,), 17)
    seeds = fixed if varied == "position" else counter
    positions = {"seed": fixed, "position": counter, "both": counter % 300}[varied]
    ids_C = torch.arange(len(p)) * 977  # no neighbours, as the survivors of a filter are
    p_C = torch.tensor(p, dtype=torch.float64)
    tokens = (p_C.log() + gumbel(seeds, positions, ids_C[None])).argmax(-1)
    observed = torch.bincount(tokens, minlength=len(p)).double()
    assert chi_square_p(observed, p_C * draws) > RARE


@pytest.mark.parametrize(
    "moved",
    [
        (0, 1, 0),  # the next position: what consecutive tokens see
        (0, 7, 0),
        (1, 0, 0),  # the next seed: what careless users choose
        (0, 0, 1),  # the next id
        (1, -1, 0),  # (seed, position) must not act as their sum
        (0, 1, -1),
        (1, 0, -1),
        (1 << 32, 0, 0),  # seeds that differ in the upper half alone
    ],
)
def test_noise_of_neighbours_is_independent(moved: tuple[int, int, int]) -> None:
    """Chi-square of 16 x 16 cells over 64,000 pairs of uniform numbers. False alarms: 1e-6 a case, 8 cases."""
    seeds, positions, ids = torch.arange(40) + 1, torch.arange(40) + 1, torch.arange(40) + 1
    grid = torch.cartesian_prod(seeds, positions)

    def numbers(offset: tuple[int, int, int]) -> torch.Tensor:
        return uniform(grid[:, 0] + offset[0], grid[:, 1] + offset[1], (ids + offset[2])[None]).flatten()

    observed, expected = pairs(numbers((0, 0, 0)), numbers(moved))
    assert chi_square_p(observed, expected) > RARE


def test_seed_and_position_are_not_interchangeable() -> None:
    """Chi-square of 16 x 16 cells, G(a, b, x) against G(b, a, x). False alarms: 1e-6."""
    grid = torch.tensor([(a, b) for a in range(60) for b in range(a)])
    ids_1C = torch.arange(40)[None]
    observed, expected = pairs(uniform(grid[:, 0], grid[:, 1], ids_1C).flatten(), uniform(grid[:, 1], grid[:, 0], ids_1C).flatten())
    assert chi_square_p(observed, expected) > RARE


def test_noise_depends_on_nothing_but_its_row() -> None:
    """A row alone, among others, or asked for some ids only: the same numbers to the bit."""
    seeds, positions = ints(5, 9, 5, -2), ints(3, 3, 4, 1000)
    together = gumbel(seeds, positions, torch.arange(517)[None])
    for r in range(4):
        alone = gumbel(seeds[r : r + 1], positions[r : r + 1], torch.arange(517)[None])
        assert torch.equal(alone[0], together[r])
    some = ints(516, 0, 33)
    assert torch.equal(gumbel(seeds, positions, some.expand(4, -1)), together[:, some])


def test_fold_keeps_the_seed_of_the_first_and_gives_the_others_their_own() -> None:
    assert fold(7, 0) == 7
    assert fold(0, 0) == 0
    seeds = [fold(seed, index) for seed in range(10) for index in range(40)]
    assert len(set(seeds)) == 10 * 40
    assert all(0 <= fold(7, index) < 2**63 for index in range(1, 40))
    # a change of these numbers changes what every list with a seed has ever written
    assert [fold(7, index) for index in (1, 2)] == [2569568714056239627, 2044421464454500580]


def test_fold_takes_ints_of_any_size() -> None:
    """They wrap into 64 bits: 2**64 + 7 is the seed 7."""
    assert fold(2**64 + 7, 0) == 7
    assert fold(2**63, 0) == -(2**63)
    assert fold(2**64 + 7, 3) == fold(7, 3)
    assert fold(7, 2**64 + 3) == fold(7, 3)


def test_folded_seeds_are_independent_streams() -> None:
    """Chi-square of 16 x 16 cells, request i against request i + 1 of a list. False alarms: 1e-6."""
    seeds = ints(*[fold(7, index) for index in range(65)])
    u = uniform(seeds, torch.zeros(65, dtype=torch.int64), torch.arange(1000)[None])
    observed, expected = pairs(u[:-1].flatten(), u[1:].flatten())
    assert chi_square_p(observed, expected) > RARE


def test_fresh_seeds_differ() -> None:
    """62 random bits: 1,000 of them collide with a chance of 1e-13."""
    seeds = [fresh_seed() for _ in range(1000)]
    assert len(set(seeds)) == 1000
    assert all(0 <= seed < 2**62 for seed in seeds)


def test_purposes_have_streams_of_their_own() -> None:
    """The noise of a draw, a verdict and a residual at one place, and the text's own, are independent in pairs."""
    ids = torch.arange(20000)[None]
    seeds = [11, stream(11, "draft"), stream(11, "draft", 1), stream(11, "accept"), stream(11, "accept", 1), stream(11, "residual")]
    noise = [uniform(ints(seed), ints(5), ids)[0] for seed in seeds]
    for i, first in enumerate(noise):
        for second in noise[:i]:
            assert chi_square_p(*pairs(first, second)) > RARE


def test_streams_differ_by_seed_purpose_and_child() -> None:
    names = ("draft", "accept", "residual")
    streams = {stream(seed, name, child) for seed in range(-50, 50) for name in names for child in range(8)}
    assert len(streams) == 100 * 3 * 8
    assert not streams & {fold(seed, index) for seed in range(-50, 50) for index in range(20)}
    assert stream(2**63 + 5, "draft") == stream(5 - 2**63, "draft")  # a seed is taken as 64 bits, as everywhere
