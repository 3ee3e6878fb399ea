"""Keys and values of MTP heads for every committed position of every row.

Heads read committed positions only, and what was rejected never gets here: nothing has to be rolled back.

Shapes: K heads, B rows, T positions, R positions of several rows one after another, H query heads, J key/value heads, S slots,
D hidden size or size of an attention head.
"""

from collections.abc import Sequence

import torch
import torch.nn.functional as F

from headstart.drafters.mtp_heads import MtpHeads
from headstart.models.slot_cache import LayerSpec, SlotCache


class MtpCache:
    """The trunk's states of rows, as their heads remember them. Rows are named by any numbers, each used once.

    Args:
        heads: on the device and in the dtype that the states come in.
        max_rows, max_tokens: the limits of the model's own cache; no more is ever needed.
    """

    def __init__(self, heads: MtpHeads, *, max_rows: int, max_tokens: int) -> None:
        config, weight = heads.config, heads.norm
        kept = LayerSpec(config.kv_heads, config.head_size, config.head_size, weight.dtype, weight.device)
        self._heads = heads
        self._cache = SlotCache([kept] * config.num_heads, max_rows=max_rows, max_tokens=max_tokens)
        self._rows: list[int] = []
        self._waiting: dict[int, list[torch.Tensor]] = {}
        """States that have not been read by the heads yet."""
        self._last_D: dict[int, torch.Tensor] = {}

    def add(self, row: int, trunk_TD: torch.Tensor) -> None:
        """The states of a row's next committed positions."""
        self._waiting.setdefault(row, []).append(trunk_TD)
        self._last_D[row] = trunk_TD[-1]

    def remove(self, row: int) -> None:
        """Forget a row; unknown ones are ignored."""
        self._waiting.pop(row, None)
        self._last_D.pop(row, None)
        if row in self._rows:
            place = self._rows.index(row)
            moved = self._cache.release_row(place)
            self._rows[place] = self._rows[moved]
            self._rows.pop()

    @torch.inference_mode()
    def read(self, rows: Sequence[int]) -> None:
        """Have the heads read what was added to these rows."""
        rows = [row for row in rows if self._waiting.get(row)]
        if not rows:
            return
        new = [torch.cat(self._waiting[row]) for row in rows]
        places = [self._place(row) for row in rows]
        lengths = [self._cache.lengths[place] for place in places]
        counts = [len(states_TD) for states_TD in new]
        self._cache.reserve(self._cache.rows, max(length + count for length, count in zip(lengths, counts, strict=True)))
        trunk_RD = torch.cat(new)
        device = trunk_RD.device
        slots_R = torch.cat(
            [torch.arange(length, length + count, device=device) for length, count in zip(lengths, counts, strict=True)]
        )
        places_R = torch.tensor(places, device=device).repeat_interleave(torch.tensor(counts, device=device))
        for k in range(self._heads.config.num_heads):
            layer = self._heads.layer(k)
            keys_RHSD, values_RHSD = self._cache.layer(k)
            keys_RHSD[places_R, :, slots_R], values_RHSD[places_R, :, slots_R] = layer.keys_values(trunk_RD, slots_R)
        for row, place, count in zip(rows, places, counts, strict=True):
            self._cache.lengths[place] += count
            del self._waiting[row]

    @torch.inference_mode()
    def states(self, rows: Sequence[int]) -> torch.Tensor:
        """What each head makes of the last position of each row, B x K x D."""
        self.read(rows)
        places = [self._rows.index(row) for row in rows]
        lengths_B = torch.tensor([self._cache.lengths[place] for place in places])
        longest = int(lengths_B.max())
        trunk_BD = torch.stack([self._last_D[row] for row in rows])
        even = bool((lengths_B == longest).all())
        lengths_B = lengths_B.to(trunk_BD.device)
        seen_B11S = None if even else (torch.arange(longest, device=trunk_BD.device) < lengths_B[:, None])[:, None, None]
        where = slice(0, len(rows)) if places == list(range(len(rows))) else torch.tensor(places, device=trunk_BD.device)
        each = []
        for k in range(self._heads.config.num_heads):
            layer = self._heads.layer(k)
            keys_BJSD, values_BJSD = (stored[where][:, :, :longest] for stored in self._cache.layer(k))
            q_BJGD = layer.queries(trunk_BD, lengths_B - 1).unflatten(1, (keys_BJSD.shape[1], -1))
            mixed_BJGD = F.scaled_dot_product_attention(q_BJGD, keys_BJSD, values_BJSD, attn_mask=seen_B11S)
            each.append(layer.finished(trunk_BD, mixed_BJGD.flatten(1)))
        return torch.stack(each, 1)

    def _place(self, row: int) -> int:
        if row not in self._rows:
            self._cache.add_row(1)
            self._rows.append(row)
        return self._rows.index(row)
