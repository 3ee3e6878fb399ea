"""Budgets for heads that were not tuned here: what trees give is known from training, what they take is presumed, then learned."""

from collections.abc import Iterable

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.tree_file import TreeFile
from headstart.engine.budget import AutomaticBudget, TreeBudget
from headstart.models.compiled import CompiledModel
from headstart.models.protocol import BaseModel
from headstart.trees.search import expected_tokens
from headstart.trees.step_table import StepTable

_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
_SECONDS = 0.02  # of a plain step; the first one corrects it
_PRICES = [0.002 * 1.1**i for i in range(60)]  # of a node, in plain steps: 0.002 to 0.55


def presumed_budgets(heads: HeadsDirectory, model: BaseModel, names: Iterable[str]) -> dict[str, TreeBudget]:
    """A budget that learns from the first step on, for each of these drafters. It begins with the nodes that the heads recommend.

    Empty where :func:`can_learn` says no.
    """
    if not can_learn(heads, model):
        return {}
    table = presumed_table(heads.tree_file)
    return {name: AutomaticBudget(table, presumed=True) for name in names}


def can_learn(heads: HeadsDirectory, model: BaseModel) -> bool:
    """False where it is unknown what trees give, where the heads recommend none, and where every size would have to be compiled."""
    return heads.total > 0 and heads.nodes > 1 and not isinstance(model, CompiledModel)


def presumed_table(file: TreeFile) -> StepTable:
    """Tokens per step as observed in training; times by which the recommended size is the best one."""
    nodes_N = sorted({1, file.nodes, *(size for size in _SIZES if size <= len(file.tree))})
    tokens_N = [1.0, *(expected_tokens(file.tree.limited(nodes=nodes), file.counts, file.total) for nodes in nodes_N[1:])]
    tables = [_at_price(price, nodes_N, tokens_N) for price in _PRICES]
    wanted = [table for table in tables if table.nodes_N[table.best(1)] == file.nodes]
    if not wanted:  # no price makes that size the best: the one at which it loses least
        place = nodes_N.index(file.nodes)
        wanted = [max(tables, key=lambda table: table.speedup(1, place) / table.speedup(1, table.best(1)))]
    return wanted[len(wanted) // 2]


def _at_price(price: float, nodes_N: list[int], tokens_N: list[float]) -> StepTable:
    times = tuple(_SECONDS * (1 + price * (nodes - 1)) for nodes in nodes_N)
    return StepTable(tuple(nodes_N), tuple(tokens_N), (1,), (times,))
