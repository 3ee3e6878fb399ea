"""In which order a node of a tree sums over the keys it sees, so that its sum has the bits of plain decoding.

A product of torch's oneDNN adds up its inner axis from the first column to the last, a *span* of columns at a time; a span of
zeros changes nothing. So the columns of a tree pass are laid out such that every node finds the positions before it in
ascending order and each span of positions inside one span of columns, as they would lie without a tree. Where branches part
in the middle of a span, its beginning is repeated for each branch. Softmax adds up lanes, column number modulo ``LANES``, so
that a position keeps its lane wherever it is put.

Positions and columns count from the start of the slab (``SLAB`` positions) in which the root stands.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch

LANES = 16
SLAB = 256
"""Positions in one product: above 512 columns oneDNN cuts the inner axis by its length."""
MOST_COLUMNS = 512
MULTIPLE = 32
"""Column counts are multiples of this, so that softmax has no remainder, which it treats by itself."""


@dataclass(frozen=True)
class Columns:
    """The columns of one slab. K is their number."""

    slots_K: torch.Tensor
    """Where a column's key and value lie: positions below the root's are their own slots, node j lies j behind the root."""
    position_K: torch.Tensor
    """Of the key in each column."""
    visible_NK: torch.Tensor
    """bool; a row for each node that was asked for."""


@lru_cache(maxsize=4096)
def arranged(
    phase: int, parent_N: tuple[int, ...], depth_N: tuple[int, ...], span: int, nodes: range
) -> tuple[Columns, ...] | None:
    """Columns of the slab of the root and, where the tree reaches into them, of the next ones; None if they would be too many.

    Args:
        phase: committed positions in the root's slab, which is the root's own position in it.
        parent_N: the root's is -1; parents come before children.
        depth_N: 0 for the root and for nodes that only fill the batch, which see what the root sees.
        span: positions that have to stay together; divides ``LANES`` or is a multiple of it.
        nodes: whose columns are wanted. A single node never needs too many, nor do eight with spans below ``LANES``.
    """
    paths: set[int] = set()
    for node in nodes:
        while node >= 0 and node not in paths:
            paths.add(node)
            node = parent_N[node]
    layout = _Layout(phase, span)
    units = {node: layout.placed(node, parent_N[node], phase + depth_N[node]) for node in sorted(paths)}
    if any(unit.column + span > MOST_COLUMNS for unit in layout.units):
        return None
    slabs = 1 + (phase + max(depth_N[node] for node in nodes)) // SLAB
    return tuple(_columns(layout, [units[node] for node in nodes], slab) for slab in range(slabs))


@dataclass
class _Unit:
    """A span of columns: the positions of one span on one path."""

    span: int
    before: "_Unit | None"
    """The unit of the path's span before; None where that is committed."""
    entries: list[int]
    """Slots, in order of position."""
    column: int = -1


class _Layout:
    def __init__(self, phase: int, span: int) -> None:
        self.phase, self.span = phase, span
        self.block = max(LANES, span)
        self.taken: set[tuple[int, int]] = set()
        self.units: list[_Unit] = []
        self._of_node: dict[int, _Unit] = {}
        self.first: _Unit | None = None
        if phase % span:  # the root's span has begun before it
            start = phase - phase % span
            self.first = self._opened(_Unit(start // span, None, list(range(start, phase))))

    def placed(self, node: int, parent: int, position: int) -> tuple[_Unit, int]:
        """The unit that ends a node's path, and how many of its entries the path has."""
        if node and position == self.phase:  # fills the batch
            return self._of_node[0], self._count(position)
        above = self.first if parent < 0 else self._of_node[parent]
        slot, offset = self.phase + node, position % self.span
        if offset == 0:
            unit = self._opened(_Unit(position // self.span, above, [slot]))
        else:
            assert above is not None
            unit = above
            if len(unit.entries) > offset:  # another branch has gone on from here
                unit = self._opened(_Unit(above.span, above.before, above.entries[:offset]))
            unit.entries.append(slot)
        self._of_node[node] = unit
        return unit, self._count(position)

    def _count(self, position: int) -> int:
        return position % self.span + 1

    def _opened(self, unit: _Unit) -> _Unit:
        slab, start = divmod(unit.span * self.span, SLAB)
        before = unit.before
        least = 0 if before is None or before.span * self.span // SLAB != slab else before.column + self.span
        column = start
        while column < least or (slab, column) in self.taken:
            column += self.block
        unit.column = column
        self.taken.add((slab, column))
        self.units.append(unit)
        return unit


def _columns(layout: _Layout, paths: list[tuple[_Unit, int]], slab: int) -> Columns:
    base = slab * SLAB
    committed = max(0, min(layout.phase - layout.phase % layout.span - base, SLAB))
    units = [unit for unit in layout.units if unit.span * layout.span // SLAB == slab]
    width = max([committed, *(unit.column + layout.span for unit in units)])
    width = -(-width // MULTIPLE) * MULTIPLE
    # lists and bytes, made tensors once at the end: a tree that is grown anew each step is never found in the cache
    slots, positions = list(range(base, base + committed)) + [0] * (width - committed), [0] * width
    positions[:committed] = slots[:committed]
    for unit in units:
        end = unit.column + len(unit.entries)
        first = unit.span * layout.span
        slots[unit.column : end] = unit.entries
        positions[unit.column : end] = range(first, first + len(unit.entries))
    visible = bytearray()
    for last, count in paths:
        seen = bytearray(width)
        seen[:committed] = b"\x01" * committed
        above: _Unit | None = last
        while above is not None:
            if above.span * layout.span // SLAB == slab:
                seen[above.column : above.column + count] = b"\x01" * count
            above, count = above.before, layout.span
        visible += seen
    visible_NK = torch.frombuffer(visible, dtype=torch.bool).view(len(paths), width)
    return Columns(torch.tensor(slots), torch.tensor(positions), visible_NK)
