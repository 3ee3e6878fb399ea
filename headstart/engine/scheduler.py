"""Which requests hold a cache row, and which wait for one."""

from collections import deque
from collections.abc import Sequence

from headstart.engine.row import Row
from headstart.errors import CapacityError
from headstart.models.slot_cache import SlotCache


class Scheduler:
    """First come, first served. Rows are listed in the order of their cache rows."""

    def __init__(self, cache: SlotCache) -> None:
        self._cache = cache
        self.rows: list[Row] = []
        self.waiting: deque[Row] = deque()

    @property
    def has_work(self) -> bool:
        return bool(self.rows or self.waiting)

    def add(self, row: Row) -> None:
        """Raises CapacityError for a request that could not run even alone."""
        self.check(row)
        self.waiting.append(row)

    def check(self, row: Row) -> None:
        """Raises CapacityError for a request that could not run even alone."""
        if not self._cache.fits(1, row.slots + row.nodes):
            raise CapacityError(
                f"a prompt of {len(row.request.prompt_ids)} tokens with up to {row.limit} new ones and a tree of {row.nodes} nodes"
                f" needs {row.slots + row.nodes} cache slots; cache_tokens is {self._cache.max_tokens}. Ask for fewer"
                " max_new_tokens or load the model with more cache_tokens"
            )

    def admit(self) -> None:
        """Give cache rows to waiting requests, in order, while all rows together fit to the end of their texts."""
        while self.waiting:
            row = self.waiting[0]
            together = [*self.rows, row]
            slots = max(r.slots for r in together) + max(r.nodes for r in together)
            if not self._cache.fits(len(together), slots):
                return
            self.waiting.popleft()
            row.slot_row = self._cache.add_row(len(row.request.prompt_ids) + row.nodes)
            self.rows.append(row)

    def remove(self, row: Row) -> None:
        """Forget a request and give its cache row back; the last row takes its place there and in the list."""
        if row.slot_row < 0:
            self.waiting.remove(row)
            return
        self._cache.release_row(row.slot_row)
        last = self.rows.pop()
        if last is not row:
            last.slot_row = row.slot_row
            self.rows[row.slot_row] = last
        row.slot_row = -1

    def clear(self) -> list[Row]:
        """Forget all requests, and the whole cache with them, whatever state it is in. Returns them."""
        gone = [*self.rows, *self.waiting]
        self.rows.clear()
        self.waiting.clear()
        self._cache.clear()
        for row in gone:
            row.slot_row = -1
        return gone

    def next_prefill(self, most_tokens: int) -> Sequence[Row]:
        """Neighbouring rows whose prompts are not in the cache yet, as many as one pass of ``most_tokens`` takes.

        All of them are equally far into their prompts, so that the pass needs no slots beyond the longest of these.
        """
        group: list[Row] = []
        longest = 0
        for row in self.rows:
            if row.running:
                if group:
                    break
                continue
            if group and row.prefilled != group[0].prefilled:
                break
            longest = max(longest, min(most_tokens, len(row.request.prompt_ids) - row.prefilled))
            if group and longest * (len(group) + 1) > most_tokens:
                break
            group.append(row)
        return group
