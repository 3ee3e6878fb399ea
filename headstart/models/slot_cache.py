"""Keys and values of all rows, with a length per row.

Row b's committed context lies in slots 0 to ``lengths[b]``. A pass writes its nodes behind that; :meth:`SlotCache.commit`
gathers the accepted ones into place and moves the length, so that rejected nodes are simply behind it. Rows in use are
always 0 to ``rows``: when one is released, the last one moves into its place, and a pass reads the live part as a view. What a
row that is gone has left is set to zero: a pass reads the slots between a shorter row's end and the longest row's, masked, and a
masked slot that holds an infinity or a NaN would still spoil the sum.

Shapes: L layers, R allocated rows, H key/value heads, S allocated slots, D size of a head.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headstart.errors import CapacityError


@dataclass
class _Group:
    """Layers whose keys and values have the same shape and device, so that a commit is one copy for all of them."""

    keys_LRHSD: torch.Tensor
    values_LRHSD: torch.Tensor


@dataclass(frozen=True)
class LayerSpec:
    """What one attention layer keeps for a position."""

    heads: int
    key_size: int
    value_size: int
    dtype: torch.dtype
    device: torch.device


class SlotCache:
    """Room for ``max_rows`` rows and ``max_tokens`` positions together (rows x slots), taken by doubling as needed."""

    def __init__(self, layers: Sequence[LayerSpec], *, max_rows: int, max_tokens: int) -> None:
        self.max_rows = max_rows
        self.max_tokens = max_tokens
        self.lengths: list[int] = []
        self._rows = 0
        self._slots = 0
        self._touched = 0
        """So many slots of a row may have been written: each pass reserves them before. 0 again when no row is left."""
        specs = list(dict.fromkeys(layers))
        self._groups = [_Group(*_empty(spec, layers.count(spec), 0, 0)) for spec in specs]
        seen = dict.fromkeys(specs, 0)
        self._place: list[tuple[int, int]] = []
        for spec in layers:
            self._place.append((specs.index(spec), seen[spec]))
            seen[spec] += 1

    @property
    def rows(self) -> int:
        """Rows in use."""
        return len(self.lengths)

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return sum(g.keys_LRHSD.nbytes + g.values_LRHSD.nbytes for g in self._groups)

    def fits(self, rows: int, slots: int) -> bool:
        """Whether ``rows`` rows of ``slots`` slots are within the limits."""
        return rows <= self.max_rows and rows * slots <= self.max_tokens

    @torch.inference_mode()  # as all that change what is stored: a pass writes in this mode, and no other may write after it
    def reserve(self, rows: int, slots: int) -> None:
        """Make room for ``rows`` rows of ``slots`` slots.

        Raises:
            CapacityError: beyond ``max_rows`` or ``max_tokens``.
        """
        rows, slots = max(rows, self.rows, 1), max(slots, max(self.lengths, default=0))
        self._touched = max(self._touched, slots)
        if rows <= self._rows and slots <= self._slots:
            return
        if not self.fits(rows, slots):
            raise CapacityError(
                f"{rows} rows of {slots} positions need {rows * slots} cache slots; the limits are max_rows={self.max_rows} and"
                f" cache_tokens={self.max_tokens}. Raise them in load(), or send less at once"
            )
        new_rows = rows if rows <= self._rows else min(max(rows, 2 * self._rows), self.max_rows)
        new_slots = slots if slots <= self._slots else max(slots, 2 * self._slots, 64)
        new_rows, new_slots = max(new_rows, self._rows), max(new_slots, self._slots)
        if new_rows * new_slots > self.max_tokens:  # doubling is a wish, the limit is not
            new_rows, new_slots = rows, self.max_tokens // rows
        for group in self._groups:
            group.keys_LRHSD = _moved(group.keys_LRHSD, new_rows, new_slots, self.lengths)
            group.values_LRHSD = _moved(group.values_LRHSD, new_rows, new_slots, self.lengths)
        self._rows, self._slots = new_rows, new_slots

    def layer(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of one layer, R x H x S x D, as views that a pass writes into."""
        group, place = self._place[index]
        return self._groups[group].keys_LRHSD[place], self._groups[group].values_LRHSD[place]

    def add_row(self, slots: int) -> int:
        """Take the next row, empty, with room for ``slots`` positions."""
        self.reserve(self.rows + 1, max(slots, 1))
        self.lengths.append(0)
        return self.rows - 1

    @torch.inference_mode()
    def release_row(self, row: int) -> int:
        """Give a row back. The last row moves into its place; returns that row's old number (``row`` itself if it was last)."""
        last = self.rows - 1
        if row != last:
            length = self.lengths[last]
            for group in self._groups:
                for stored in (group.keys_LRHSD, group.values_LRHSD):
                    stored[:, row, :, :length] = stored[:, last, :, :length]
            self._wipe(row, length)
            self.lengths[row] = length
        self._wipe(last, 0)
        self.lengths.pop()
        self._touched = self._touched if self.lengths else 0
        return last

    @torch.inference_mode()
    def commit(self, row: int, path: Sequence[int]) -> None:
        """Keep the nodes of ``path`` (tree indices, the root's 0 first) of the last pass, in this order; forget the others."""
        length, kept = self.lengths[row], len(path)
        assert length + kept <= self._slots, "a commit beyond the slots that the pass had"
        in_place = 0
        while in_place < kept and path[in_place] == in_place:
            in_place += 1
        if in_place < kept:
            source = torch.tensor([length + node for node in path[in_place:]])
            for group in self._groups:
                for stored in (group.keys_LRHSD, group.values_LRHSD):
                    at = source.to(stored.device, non_blocking=True)
                    stored[:, row, :, length + in_place : length + kept] = stored[:, row].index_select(2, at)
        self.lengths[row] = length + kept

    @torch.inference_mode()
    def clear(self) -> None:
        """Forget every row; the room stays."""
        for row in range(self.rows):
            self._wipe(row, 0)
        self.lengths.clear()
        self._touched = 0

    def _wipe(self, row: int, start: int) -> None:
        for group in self._groups:
            for stored in (group.keys_LRHSD, group.values_LRHSD):
                stored[:, row, :, start : self._touched] = 0


def _empty(spec: LayerSpec, layers: int, rows: int, slots: int) -> tuple[torch.Tensor, torch.Tensor]:
    shape = (layers, rows, spec.heads, slots)
    return (
        torch.zeros((*shape, spec.key_size), dtype=spec.dtype, device=spec.device),
        torch.zeros((*shape, spec.value_size), dtype=spec.dtype, device=spec.device),
    )


def _moved(old: torch.Tensor, rows: int, slots: int, lengths: Sequence[int]) -> torch.Tensor:
    layers, _, heads, _, size = old.shape
    # zeros, not empty: a masked slot is multiplied by a zero weight, and zero times a stray NaN is NaN
    new = torch.zeros((layers, rows, heads, slots, size), dtype=old.dtype, device=old.device)
    for row, length in enumerate(lengths):
        new[:, row, :, :length] = old[:, row, :, :length]
    return new
