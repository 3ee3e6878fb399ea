"""One request on its way through the engine."""

from dataclasses import dataclass, field

from headstart.acceptance.rules import Rule
from headstart.acceptance.walk import Exact
from headstart.completion import Stats
from headstart.engine.budget import TreeBudget
from headstart.request import Request
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget


@dataclass
class Row:
    """A request, its sampling state and its place in the cache."""

    number: int
    request: Request
    sampling: RowSampling
    limit: int
    """Ids that it may emit: ``max_new_tokens`` or the context's end, whichever comes first."""
    tree: TreeBudget
    """Says how many nodes its trees may have."""
    rule: Rule = field(default_factory=Exact)
    """Says which guesses are accepted."""
    slot_row: int = -1
    """The cache row, while it has one. The engine's rows are kept in this order."""
    prefilled: int = 0
    stats: Stats = field(default_factory=Stats)

    @property
    def running(self) -> bool:
        """Whether it has its first root and decodes."""
        return bool(self.sampling.generated)

    @property
    def slots(self) -> int:
        """Positions that its text can take; the tree comes on top."""
        return len(self.request.prompt_ids) + self.limit

    @property
    def nodes(self) -> int:
        """The largest tree that it will ever carry."""
        return max(self.tree.sizes)

    def budget(self, rows: int, *, observed: bool = True) -> Budget:
        """In a pass of ``rows`` rows. No guesses beyond the last id that it may emit: near the end the tree shrinks.

        ``observed``: whether the pass will be told to the budget; see :meth:`TreeBudget.nodes`.
        """
        nodes = self.tree.nodes(rows, observed=observed)
        remaining = self.limit - len(self.sampling.generated)
        return Budget(nodes=nodes, depth=min(remaining - 1, nodes - 1), price=self.tree.price(rows))
