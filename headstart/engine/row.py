"""One request on its way through the engine."""

from dataclasses import dataclass, field

from headstart.completion import Stats
from headstart.drafters.protocol import Budget
from headstart.request import Request
from headstart.sampling.row import RowSampling


@dataclass
class Row:
    """A request, its sampling state and its place in the cache."""

    number: int
    request: Request
    sampling: RowSampling
    limit: int
    """Ids that it may emit: ``max_new_tokens`` or the context's end, whichever comes first."""
    nodes: int
    """The largest tree that it may carry."""
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
    def budget(self) -> Budget:
        """No guesses beyond the last id that it may emit: near the end the tree shrinks."""
        remaining = self.limit - len(self.sampling.generated)
        return Budget(nodes=self.nodes, depth=min(remaining - 1, self.nodes - 1))
