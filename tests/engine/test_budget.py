"""Budgets that follow the rows, in a simulated world: times and acceptances are fed in, no clock is read."""

import random
from collections.abc import Callable

import pytest

from headstart.engine.budget import DECIDE_EVERY, PROBE_EVERY, AutomaticBudget, FixedBudget
from headstart.trees.step_table import StepTable

NODES = (1, 2, 4, 8, 16)
TOKENS = (1.0, 1.3, 1.5, 1.7, 1.8)
# one row: a pass over few nodes is nearly free; eight rows: it is bound by arithmetic, and no tree pays
TABLE = StepTable(
    NODES, TOKENS, (1, 2, 8), ((10.0, 10.2, 10.5, 11.5, 15.0), (10.5, 11.0, 12.0, 15.0, 22.0), (16.0, 21.0, 30.0, 50.0, 90.0))
)


class World:
    """Runs a budget for steps whose times and acceptances it makes up."""

    def __init__(
        self,
        budget: AutomaticBudget,
        *,
        seconds: Callable[[int, int], float] = lambda rows, size: TABLE.seconds(rows, size),
        tokens: Callable[[int], float] = lambda size: TOKENS[size],
        noise: float = 0.0,
        seed: int = 0,
    ) -> None:
        self.budget, self.noise = budget, noise
        self.seconds_of, self.tokens_of = seconds, tokens
        self._random = random.Random(seed)
        self.asked: list[int] = []
        self.time = self.tokens = self.plain_time = 0.0

    def run(self, steps: int, rows: int = 1) -> "World":
        for _ in range(steps):
            nodes = self.budget.nodes(rows)
            size = NODES.index(nodes)
            shake = self._random.lognormvariate(0, self.noise) * (3.0 if self.noise and self._random.random() < 0.02 else 1.0)
            seconds = self.seconds_of(rows, size) * shake
            mean = self.tokens_of(size) - 1
            # up to three guesses, each right with the chance that gives the mean
            accepted = [sum(self._random.random() < mean / 3 for _ in range(3)) for _ in range(rows)]
            self.budget.observe(rows, nodes, accepted, seconds)
            self.asked.append(nodes)
            self.time += self.seconds_of(rows, size)
            self.tokens += rows * (1 + mean)
            self.plain_time += self.seconds_of(rows, 0) * (1 + mean)
        return self

    @property
    def against_plain(self) -> float:
        """Tokens per second over those of plain decoding, expected values."""
        return self.plain_time / self.time


def changes(asked: list[int]) -> int:
    """How often the size changed for more than a single step."""
    lasting = [b for a, b, c in zip(asked, asked[1:], asked[2:]) if b in (a, c)]
    return sum(a != b for a, b in zip(lasting, lasting[1:]))


def test_fixed() -> None:
    budget = FixedBudget(5)
    budget.observe(3, 5, [9, 9, 9], 100.0)
    assert (budget.nodes(1), budget.nodes(64), budget.sizes) == (5, 5, (5,))


def test_the_table_decides_at_first() -> None:
    # one row: 1.7 / 11.5 * 10 = 1.478 is the best; two: 1.5 / 12 * 10.5 = 1.3125; eight: 1.3 / 21 * 16 = .99, so plain
    budget = AutomaticBudget(TABLE)
    assert [budget.nodes(rows) for rows in (1, 2, 8, 64)] == [8, 4, 1, 1]
    assert budget.sizes == NODES  # twice the best, for the case that larger trees turn out better
    assert budget.nodes(1) == 8  # asking changes nothing


def test_rows_come_and_go() -> None:
    world = World(AutomaticBudget(TABLE)).run(3).run(3, rows=8).run(3)
    assert world.asked == [8] * 3 + [1] * 3 + [8] * 3


def test_without_noise_it_stays_and_tries_others_now_and_then() -> None:
    world = World(AutomaticBudget(TABLE)).run(10 * PROBE_EVERY)
    # every 8 steps at first: 6 tries in 48 steps; then at 64, 96, ..., the last one due after the end
    assert world.asked.count(8) == 10 * PROBE_EVERY - 6 - 8
    assert sorted({*world.asked}) == [1, 4, 8, 16]
    world = World(AutomaticBudget(TABLE)).run(5000)
    assert world.against_plain > 0.99 * TABLE.speedup(1, 3)  # trying costs less than a hundredth


@pytest.mark.parametrize("seed", range(5))
def test_noise_does_not_make_it_change_all_the_time(seed: int) -> None:
    """Times shake by 10 %, and every fiftieth step takes three times as long."""
    world = World(AutomaticBudget(TABLE), noise=0.1, seed=seed).run(3000)
    assert changes(world.asked) <= 6
    assert world.against_plain > 0.96 * TABLE.speedup(1, 3)


@pytest.mark.parametrize("rows", [1, 2, 8])
@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_trees_that_never_pay_cost_at_most_three_percent(rows: int, noise: float) -> None:
    """The table says that trees pay; in truth a step takes twice as long with any of them."""
    budget = AutomaticBudget(TABLE)
    world = World(budget, seconds=lambda r, size: TABLE.seconds(r, size) * (2 if size else 1), noise=noise).run(4000, rows)
    assert world.against_plain > 0.97
    assert world.asked[-500:].count(1) > 450


def test_texts_that_are_not_guessed_lead_to_plain_decoding_and_back() -> None:
    """With a tenth of the expected acceptance, 8 nodes give 1.07 tokens in 1.15 steps of time, 2 and 4 about nothing."""
    budget = AutomaticBudget(TABLE)
    world = World(budget, tokens=lambda size: 1 + (TOKENS[size] - 1) / 10).run(1500)
    assert budget.gain < 0.4
    assert max(world.asked[-300:], key=world.asked[-300:].count) in (1, 2, 4)
    assert world.against_plain > 0.97
    world.tokens_of = lambda size: TOKENS[size]
    world.run(20_000)  # only tries tell it that texts are easy again
    assert world.asked[-2] in (4, 8)


def test_a_machine_that_slows_down_changes_nothing() -> None:
    """Everything takes three times as long, a longer context for instance: sizes compare as before."""
    world = World(AutomaticBudget(TABLE)).run(200)
    world.seconds_of = lambda rows, size: 3 * TABLE.seconds(rows, size)
    world.run(1000)
    assert changes(world.asked) == 0
    assert world.asked[-2] == 8


def test_a_larger_tree_that_turns_out_cheap_is_taken() -> None:
    # 16 nodes take no longer than 8: 1.8 tokens against 1.7, 6 % more
    budget = AutomaticBudget(TABLE)
    world = World(budget, seconds=lambda rows, size: TABLE.seconds(rows, min(size, 3))).run(1000)
    assert world.asked[-2] == 16


def test_a_size_is_tried_in_a_step_that_is_observed() -> None:
    """Plain decoding is due after eight steps. Others may look away meanwhile: they get the size that stands."""
    budget = AutomaticBudget(TABLE)
    World(budget).run(8)
    assert [budget.nodes(1, observed=observed) for observed in (True, False, True)] == [1, 8, 1]
    World(budget).run(1)
    assert [budget.nodes(1, observed=observed) for observed in (True, False)] == [8, 8]


@pytest.mark.parametrize("slow", [(10.0,), (10.0, 10.0, 4.0)])
@pytest.mark.parametrize("presumed", [True, False])
def test_first_steps_that_are_held_up_say_nothing(presumed: bool, slow: tuple[float, ...]) -> None:
    """What is done once takes its time in the first steps; the world is as the table says, so that 8 nodes stay the best."""
    calm = World(AutomaticBudget(TABLE, presumed=presumed)).run(80)
    times = iter(slow)
    held_up = World(AutomaticBudget(TABLE, presumed=presumed), seconds=lambda r, size: TABLE.seconds(r, size) * next(times, 1.0))
    assert held_up.run(80).asked == calm.asked
    assert calm.asked.count(8) == 80 - 6 - 1  # tries every eighth step up to 48, and at 64
    assert calm.budget.speeds(1) == pytest.approx(held_up.budget.speeds(1), rel=1e-3)


def test_what_it_begins_with() -> None:
    """Whatever it has learned since: here that trees take ten times as long as the table says."""
    budget = AutomaticBudget(TABLE)
    World(budget, seconds=lambda r, size: TABLE.seconds(r, size) * (10 if size else 1)).run(200)
    assert [budget.nodes(1, observed=False), budget.first_nodes(1), budget.first_nodes(2), budget.first_nodes(8)] == [1, 8, 4, 1]


def test_decisions_are_spaced() -> None:
    budget = AutomaticBudget(TABLE)
    world = World(budget, seconds=lambda rows, size: TABLE.seconds(rows, size) * (3 if size else 1)).run(400)
    first = next(i for i in range(len(world.asked) - 1) if world.asked[i] == world.asked[i + 1] != 8)
    assert first % DECIDE_EVERY in (0, 1)  # 1: the step of the decision itself tried another size


def test_where_nothing_pays_small_trees_are_tried() -> None:
    slow = StepTable((1, 2, 4, 8), (1.0, 1.1, 1.2, 1.3), (1,), ((10.0, 20.0, 30.0, 40.0),))
    budget = AutomaticBudget(slow)
    assert (budget.nodes(1), budget.sizes) == (1, (1, 2, 4))


def test_only_chosen_sizes() -> None:
    """8 nodes for one row, 4 for two, plain decoding for eight: nothing else is ever asked for, tries included."""
    budget = AutomaticBudget(TABLE, only_chosen=True)
    assert budget.sizes == (1, 4, 8)
    world = World(budget, noise=0.1).run(500).run(500, rows=2).run(500, rows=8)
    assert {*world.asked} == {1, 4, 8}


def test_a_size_that_is_not_its_own_teaches_nothing() -> None:
    budget = AutomaticBudget(TABLE)
    before = budget.speeds(1)
    budget.observe(1, 5, [3], 1000.0)
    assert budget.speeds(1) == before
