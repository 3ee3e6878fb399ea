"""Budgets for heads that were not tuned here: they begin where the heads recommend and end at what pays."""

import random

import pytest

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.tree_file import TreeFile
from headstart.engine.budget import AutomaticBudget
from headstart.engine.presumed_budget import presumed_budgets, presumed_table
from headstart.llm import LLM
from headstart.trees.search import grow
from tests.tiny_models import alphabet_heads, alphabet_model, letter_ids, native

# of 100 positions; the second guess of the first head is worth a third of the first
COUNTS = {(0,): 50, (1,): 17, (2,): 9, (0, 0): 25, (0, 1): 8, (1, 0): 8, (0, 0, 0): 12, (0, 0, 1): 4}


def tree_file(nodes: int) -> TreeFile:
    return TreeFile(tree=grow(COUNTS, 9), nodes=nodes, counts=COUNTS, total=100)


@pytest.mark.parametrize("nodes", [2, 3, 4, 6, 8])
def test_it_begins_with_the_recommended_size(nodes: int) -> None:
    table = presumed_table(tree_file(nodes))
    assert AutomaticBudget(table, presumed=True).nodes(1) == nodes
    # up to twice as many, at least four, of those that were counted
    assert max(AutomaticBudget(table, presumed=True).sizes) == {2: 4, 3: 6, 4: 8, 6: 8, 8: 8}[nodes]
    assert table.tokens_N[:4] == pytest.approx((1.0, 1.5, 1.75, 1.92))  # 50, then 25, then 17 of 100 positions


@pytest.mark.parametrize(("price", "least", "most"), [(0.0, 8, 9), (0.3, 2, 3), (1.0, 1, 1)])
@pytest.mark.parametrize("plain", [0.0005, 0.03, 2.0])
def test_real_times_count_for_all(price: float, least: int, most: int, plain: float) -> None:
    """Steps of any length whose nodes cost nothing, a third of a plain step, or all of one; they shake by 5 %."""
    table = presumed_table(tree_file(4))
    budget, noise = AutomaticBudget(table, presumed=True), random.Random(0)
    asked = []
    for _ in range(600):
        nodes = budget.nodes(1)
        expected = table.tokens_N[table.nodes_N.index(nodes)] - 1
        accepted = min(3, sum(noise.random() < expected / 3 for _ in range(3)))
        budget.observe(1, nodes, [accepted], plain * (1 + price * (nodes - 1)) * noise.uniform(0.95, 1.05), nodes)
        asked.append(nodes)
    settled = sorted(asked[-200:])[100]  # single steps try other sizes
    assert least <= settled <= most


def test_a_slow_first_step_changes_nothing() -> None:
    """Ten times as long as the others, as a first step may be; the nodes cost a tenth of a plain step each, so that 4 stay best."""
    table = presumed_table(tree_file(4))
    asked: dict[float, list[int]] = {}
    for first in (1.0, 10.0):
        budget, asked[first] = AutomaticBudget(table, presumed=True), []
        for step in range(80):
            nodes = budget.nodes(1)
            accepted = step % 2  # half a guess a step, whatever is asked for: the same texts both times
            budget.observe(1, nodes, [accepted], 0.03 * (1 + 0.1 * (nodes - 1)) * (1.0 if step else first), nodes)
            asked[first].append(nodes)
    assert asked[10.0] == asked[1.0]


def test_who_gets_one() -> None:
    model = native(alphabet_model())
    heads = alphabet_heads(model)
    assert presumed_budgets(heads, model, ["medusa"]) == {}  # nobody knows what its trees give
    known = HeadsDirectory(heads.heads, heads.tree, nodes=3, counts={(0,): 90, (0, 0): 80}, total=100)
    assert set(presumed_budgets(known, model, ["medusa", "combined"])) == {"medusa", "combined"}
    llm = LLM(model, None, heads=known, drafter="combined")
    assert isinstance(llm.engine.budget("combined"), AutomaticBudget)
    assert llm.engine.budget("medusa-static").nodes(1) == 3
    assert llm.engine.budget("combined", 5).sizes == (5,)
    assert llm.engine.budget("combined", timed=False).sizes == (3,)  # a lossy rule's text depends on its trees
    fixed = LLM(model, None, heads=known, drafter="combined", nodes=2)
    assert fixed.engine.budget("combined").sizes == (2,)
    plain = llm.generate(letter_ids("abc"), max_new_tokens=40, drafter="none").token_ids
    assert llm.generate(letter_ids("abc"), max_new_tokens=40).token_ids == plain
