"""One pass of the native decoder over the rows of a batch: where its nodes stand and where they are written.

Shapes: L layers, B rows, R allocated rows, N nodes, J key/value heads, S slots, D size of a head.
"""

from collections.abc import Sequence

import torch

from headstart.models.slot_cache import SlotCache


class NativeCache(SlotCache):
    """A slot cache whose layers all have the same shape."""

    def stacked(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Keys and values of all layers, L x R x J x S x D, as views."""
        (group,) = self._groups
        return group.keys_LRHSD, group.values_LRHSD


class NativePass:
    """Rows ``first_row`` to ``first_row + B`` of the cache, with N nodes each behind their lengths."""

    def __init__(self, cache: NativeCache, first_row: int, depth_BN: torch.Tensor, ancestors_BNN: torch.Tensor) -> None:
        self.rows, self.nodes = depth_BN.shape
        self.lengths: Sequence[int] = tuple(cache.lengths[first_row : first_row + self.rows])
        self.depth_BN, self.ancestors_BNN = depth_BN, ancestors_BNN
        self.positions_BN = torch.tensor(self.lengths)[:, None] + depth_BN
        self.live = max(self.lengths) + self.nodes
        """Slots of a row that the pass reads or writes."""
        self._cache, self._span = cache, slice(first_row, first_row + self.rows)

    def open(self, slots: int) -> int:
        """Make views of the rows' first ``slots`` slots, or of as many as there are; returns how many that is."""
        self._cache.reserve(self._cache.rows, self.live)
        if slots > self.live and self._cache.fits(self._cache.rows, slots):
            self._cache.reserve(self._cache.rows, slots)
        keys_LBJSD, values_LBJSD = (stored[:, self._span] for stored in self._cache.stacked())
        # all views at once: made layer by layer they would cost more than the copies they serve
        self.keys_L = keys_LBJSD[:, :, :, :slots].flatten(1, 2).unbind(0)
        """By layer: (B * J) x S x D."""
        self.values_L = values_LBJSD[:, :, :, :slots].flatten(1, 2).unbind(0)
        start = self.lengths[0]
        self._even = all(length == start for length in self.lengths)
        if self._even:
            self._to_keys_L = keys_LBJSD[:, :, :, start : self.live].unbind(0)
            self._to_values_L = values_LBJSD[:, :, :, start : self.live].unbind(0)
        else:
            self._to_keys_L, self._to_values_L = keys_LBJSD.unbind(0), values_LBJSD.unbind(0)
            self._rows_B1 = torch.arange(self.rows)[:, None]
            self._slots_BN = torch.tensor(self.lengths)[:, None] + torch.arange(self.nodes)
        self._values_LBJSD = values_LBJSD
        return self.keys_L[0].shape[1]

    def values_in(self, start: int, stop: int) -> tuple[torch.Tensor, ...]:
        """By layer: the values in slots ``start`` to ``stop``, (B * J) x S x D, as views."""
        return self._values_LBJSD[:, :, :, start:stop].flatten(1, 2).unbind(0)

    def write(self, layer: int, k_BNJD: torch.Tensor, v_BNJD: torch.Tensor) -> None:
        """Put the nodes' keys and values behind the rows."""
        if self._even:
            self._to_keys_L[layer].copy_(k_BNJD.transpose(1, 2))
            self._to_values_L[layer].copy_(v_BNJD.transpose(1, 2))
        else:
            self._to_keys_L[layer][self._rows_B1, :, self._slots_BN] = k_BNJD
            self._to_values_L[layer][self._rows_B1, :, self._slots_BN] = v_BNJD
