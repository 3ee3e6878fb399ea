"""Budgets that change every step: the text stays, and what they are told is what happened."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle

import pytest

from headstart.drafters.arrangement import GrownTree, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.budget import AutomaticBudget
from headstart.engine.engine import Engine
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.trees.shape import TreeShape
from headstart.trees.step_table import StepTable
from tests.decoding import ScriptedDrafter, Spy, decode, texts
from tests.tiny_models import VOCAB, native, noise_heads, tiny

NEW = 24
_random = random.Random(5)
PROMPTS = [[_random.randrange(3, VOCAB) for _ in range(length)] for length in (3, 11, 1, 20)]
TREE = TreeShape.full([3, 2, 2])


class Restless:
    """Another number of nodes at every step that it is told of."""

    sizes = (1, 2, 3, 5, 8, 12)

    def __init__(self) -> None:
        self._order = cycle((1, 12, 2, 8, 3))
        self._now = 5
        self.told: list[tuple[int, int, int]] = []
        """Rows, nodes, and guesses accepted of all rows."""

    def nodes(self, rows: int, *, observed: bool = True) -> int:
        return self._now

    def price(self, rows: int) -> float:
        return 0.0

    def observe(self, rows: int, nodes: int, accepted: Sequence[int], seconds: float, width: int = 0) -> None:
        assert 1 <= width <= nodes
        assert nodes == self._now
        assert len(accepted) == rows
        assert seconds > 0
        self.told.append((rows, nodes, sum(accepted)))
        self._now = next(self._order)


def requests(temperature: float, **options: object) -> list[Request]:
    params = SamplingParams(temperature=temperature)
    return [
        Request(prompt_ids=ids, params=params, seed=7 + i, max_new_tokens=NEW, **options)  # type: ignore[arg-type]
        for i, ids in enumerate(PROMPTS)
    ]


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("way", ["scripted", "static", "grown"])
def test_the_text_is_that_of_plain_decoding(way: str, temperature: float) -> None:
    model = native(tiny("llama"))
    plain = texts(Engine(model, {"none": PlainDrafter()}), requests(temperature))
    if way == "scripted":
        drafter = ScriptedDrafter(dict(zip(map(tuple, PROMPTS), plain)), TREE, accuracy=0.7, vocab=VOCAB)
    else:
        guesses = HeadGuesses(noise_heads(model), model)
        drafter = MedusaDrafter(guesses, StaticTree(TREE) if way == "static" else GrownTree(3, VOCAB))  # type: ignore[assignment]
    budget = Restless()
    engine = Engine(model, {"none": PlainDrafter(), "guesses": drafter}, budgets={"guesses": budget})
    assert texts(engine, requests(temperature, drafter="guesses")) == plain
    assert {nodes for _, nodes, _ in budget.told} >= {5, 1, 12, 2, 8}


@pytest.mark.parametrize(
    ("acceptance", "options"), [("typical", {"delta": 0.5, "epsilon": 0.3}), ("threshold", {"threshold": 0.05}), ("rejection", {})]
)
def test_a_text_that_depends_on_its_trees_does_not_depend_on_the_clock(acceptance: str, options: dict[str, float]) -> None:
    model = native(tiny("llama"))
    guesses = HeadGuesses(noise_heads(model), model)
    drafters = {"none": PlainDrafter(), "guesses": MedusaDrafter(guesses, GrownTree(3, VOCAB))}
    budget = Restless()
    wanted = [replace(request, drafter="guesses", acceptance=acceptance, acceptance_options=options) for request in requests(1.0)]
    fixed = texts(Engine(model, drafters, nodes=6), wanted)
    assert texts(Engine(model, drafters, nodes=6, budgets={"guesses": budget}), wanted) == fixed
    assert budget.told == []


def test_it_is_asked_for_the_rows_that_run() -> None:
    """Four rows that differ in length: the batch shrinks as they finish, and no other number is ever told."""
    model = Spy(native(tiny("llama")))
    plain = texts(Engine(model, {"none": PlainDrafter()}), requests(0.0))
    drafter = ScriptedDrafter(dict(zip(map(tuple, PROMPTS), plain)), TREE, accuracy=1.0, vocab=VOCAB)
    budget = Restless()
    engine = Engine(model, {"none": PlainDrafter(), "guesses": drafter}, budgets={"guesses": budget})
    mixed = [Request(prompt_ids=ids, max_new_tokens=tokens, drafter="guesses") for ids, tokens in zip(PROMPTS, (8, 12, 16, 24))]
    del model.verified[:]
    outcomes = decode(engine, mixed)
    assert [outcome.ids for outcome in outcomes] == [text[:tokens] for text, tokens in zip(plain, (8, 12, 16, 24))]
    assert {rows for rows, _, _ in budget.told} <= {1, 2, 3, 4}
    assert budget.told[0][0] == 4
    # what was told of is among the passes that ran, in order
    passes = iter(model.verified)
    assert all((rows, nodes) in passes for rows, nodes, _ in budget.told)


def test_a_request_s_own_number_of_nodes_comes_first() -> None:
    model = Spy(native(tiny("llama")))
    budget = Restless()
    guesses = HeadGuesses(noise_heads(model), model)
    drafter = MedusaDrafter(guesses, StaticTree(TREE))
    engine = Engine(model, {"none": PlainDrafter(), "medusa": drafter}, budgets={"medusa": budget})
    decode(engine, [Request(prompt_ids=PROMPTS[0], max_new_tokens=6, drafter="medusa", nodes=4)])
    assert {nodes for _, nodes in model.verified} <= {1, 2, 3, 4}
    assert budget.told == []
    decode(engine, [Request(prompt_ids=PROMPTS[0], max_new_tokens=6)])  # plain decoding has nothing to tell
    assert budget.told == []


def test_mixed_batches_teach_nothing() -> None:
    """A plain row beside a tuned one: the time of such a step belongs to neither."""
    model = native(tiny("llama"))
    budget = Restless()
    drafter = MedusaDrafter(HeadGuesses(noise_heads(model), model), StaticTree(TREE))
    engine = Engine(model, {"none": PlainDrafter(), "medusa": drafter}, budgets={"medusa": budget})
    decode(
        engine,
        [
            Request(prompt_ids=PROMPTS[0], max_new_tokens=6, drafter="medusa"),
            Request(prompt_ids=PROMPTS[1], max_new_tokens=30),
        ],
    )
    assert budget.told == []


@pytest.mark.parametrize("acceptance", ["exact", "typical"])
def test_a_size_is_tried_where_somebody_looks(acceptance: str) -> None:
    """Two rows whose trees should have 4 nodes, and plain decoding is due to be tried. The second one's trees have 2 nodes whatever
    happens, by its rule or by its request, so that no step of both is observed, and none of them is the one to try it in."""
    model = Spy(native(tiny("llama")))
    drafter = MedusaDrafter(HeadGuesses(noise_heads(model), model), StaticTree(TREE))
    budget = AutomaticBudget(StepTable((1, 2, 4), (1.0, 1.5, 2.0), (1,), ((1.0, 1.0, 1.0),)))
    while budget.nodes(2) == 4:
        budget.observe(2, 4, [1, 1], 1.0)
    assert (budget.nodes(2), budget.nodes(2, observed=False)) == (1, 4)
    engine = Engine(model, {"none": PlainDrafter(), "medusa": drafter}, nodes=2, budgets={"medusa": budget})
    first = Request(prompt_ids=PROMPTS[0], max_new_tokens=30, drafter="medusa")
    fixed = Request(prompt_ids=PROMPTS[1], max_new_tokens=30, drafter="medusa", acceptance=acceptance, nodes=2)
    del model.verified[:]
    for request in (first, replace(fixed, nodes=None) if acceptance == "typical" else fixed):
        engine.add(request)
    while not model.verified:
        engine.step()
    for _ in range(5):
        engine.step()
    assert model.verified == [(2, 4)] * 6
    assert budget.nodes(2) == 1  # still due
