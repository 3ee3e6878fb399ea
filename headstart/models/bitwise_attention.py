"""Attention whose bits depend on a query's position and on what stands before it, and on nothing else.

Not on the tree, the chunk of a prompt, or the rows beside it; ``bitwise_columns.py`` says how. Sums over more than ``SLAB``
positions are made slab by slab, and the slabs' results are added in order, in float32. It holds for bfloat16 on a CPU whose
kernels ``bitwise_probe.py`` has tried, for products of at least two rows.

Shapes: B rows, N nodes, H query heads, J key/value heads, G query heads per key/value head, S slots, C columns, D size of a head.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from headstart.models.bitwise_columns import MULTIPLE, SLAB, Columns, arranged
from headstart.models.masks import Reach
from headstart.models.native_pass import NativePass
from headstart.models.native_spec import NativeSpec
from headstart.models.slot_cache import SlotCache

_CHUNK = 128  # nodes of a prompt at a time: bounds the scores' memory, and columns behind them need not be read
_HIDDEN = float("-inf")


@dataclass(frozen=True)
class _Part:
    """Nodes that are attended together."""

    nodes: slice
    natural: int
    """Columns at the front that are slots 0, 1, 2, ... of every row."""
    gathered: list[torch.Tensor]
    """B x C slots of the columns behind those, slab by slab."""
    masks: Mapping[str, torch.Tensor]
    """B x 1 x N x 1 x C, additive, by kind of layer."""


class BitwiseAttention:
    """Attention of one pass, layer by layer.

    Args:
        parent_BN: None for nodes that follow one another, as those of a prompt do.
        span: positions that this processor's products add up together (see ``bitwise_probe.py``).

    Raises:
        TreeError: the tree has too many branches.
    """

    def __init__(
        self, one_pass: NativePass, cache: SlotCache, parent_BN: torch.Tensor | None, spec: NativeSpec, dtype: torch.dtype, span: int
    ) -> None:
        self._pass, self._spec, self._dtype = one_pass, spec, dtype
        if parent_BN is None or _in_a_line(one_pass, parent_BN):
            starts = range(0, one_pass.nodes, _CHUNK)
            self._parts = [self._line(slice(start, min(start + _CHUNK, one_pass.nodes))) for start in starts]
            self._slots = max(part.natural for part in self._parts)
            if cache.fits(cache.rows, self._slots):
                cache.reserve(cache.rows, self._slots)
        else:
            self._parts = [self._tree(parent_BN, span)]
            self._slots = one_pass.live

    def __call__(
        self, layer: int, q_BNHD: torch.Tensor, k_BNJD: torch.Tensor, v_BNJD: torch.Tensor
    ) -> torch.Tensor:
        """Returns B x N x (H * D). Where a lone node comes twice, both are computed and the first is written."""
        nodes = self._pass.nodes
        keys, values = self._pass.write(layer, k_BNJD[:, :nodes], v_BNJD[:, :nodes], self._slots)
        if keys.shape[2] < self._slots:  # the cache's last slots: the columns behind them have to come from somewhere
            keys, values = (F.pad(x, (0, 0, 0, self._slots - x.shape[2])) for x in (keys, values))
        kind = self._spec.kinds_L[layer]
        if len(self._parts) == 1:
            return self._attend(self._parts[0], kind, q_BNHD, keys, values)
        return torch.cat([self._attend(part, kind, q_BNHD[:, part.nodes], keys, values) for part in self._parts], 1)

    def _attend(
        self, part: _Part, kind: str, q_BNHD: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> torch.Tensor:
        spec = self._spec
        rows, nodes, heads, size = q_BNHD.shape
        q = q_BNHD.reshape(rows, nodes, spec.kv_heads, spec.groups, size).transpose(1, 2)
        q = q.reshape(rows, spec.kv_heads, nodes * spec.groups, size)
        lone = q.shape[2] == 1
        if lone:  # a product of one row takes another kernel
            q = q.expand(-1, -1, 2, -1)
        weights, copies = self._weights(part, kind, q, keys), q.shape[2] // spec.groups
        weights = weights.view(rows, spec.kv_heads, copies * spec.groups, -1)
        out: torch.Tensor | None = None
        for column in range(0, part.natural, SLAB):
            stop = min(column + SLAB, part.natural)
            out = _plus(out, torch.matmul(weights[..., column:stop], values[:, :, column:stop]))
        column = part.natural
        for slots_BC in part.gathered:
            stop = column + slots_BC.shape[1]
            out = _plus(out, torch.matmul(weights[..., column:stop], _picked(values, slots_BC)))
            column = stop
        assert out is not None
        out = out.to(values.dtype)
        if lone:
            out = out[:, :, :1]
        return out.view(rows, spec.kv_heads, nodes, spec.groups, size).transpose(1, 2).reshape(rows, nodes, heads * size)

    def _weights(self, part: _Part, kind: str, q: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Softmax of the scores, B x J x N x G x C."""
        spec, mask = self._spec, part.masks[kind]
        scores = torch.matmul(keys if part.gathered else keys[:, :, : part.natural], q.transpose(2, 3))
        scale = spec.scale
        if spec.softcap is not None:
            scores = scores.mul_(scale / spec.softcap).tanh_()
            scale = spec.softcap
        rows, heads, _, queries = scores.shape
        masked = scores.new_empty(rows, heads, queries // spec.groups, spec.groups, mask.shape[-1])
        pieces = [scores[:, :, : part.natural]] if part.natural else []
        pieces += [_picked(scores, slots_BC) for slots_BC in part.gathered]
        column = 0
        for piece in pieces:
            stop = column + piece.shape[2]
            by_head = piece.view(rows, heads, stop - column, -1, spec.groups).permute(0, 1, 3, 4, 2)
            torch.add(mask[..., column:stop], by_head, alpha=scale, out=masked[..., column:stop])
            column = stop
        return torch.softmax(masked, -1)

    def _line(self, nodes: slice) -> _Part:
        """Nodes that lie in the slots of their positions."""
        own_BN = self._pass.positions_BN[:, nodes]
        natural = _rounded(max(self._pass.lengths) + nodes.stop)
        position_BC = torch.arange(natural)[None]
        masks = {
            kind: self._mask([position_BC <= own_BN[:, :, None]], [position_BC], own_BN, reach) for kind, reach in self._spec.reaches.items()
        }
        return _Part(nodes, natural, [], masks)

    def _tree(self, parent_BN: torch.Tensor, span: int) -> _Part:
        one_pass = self._pass
        slabs_B = [length // SLAB for length in one_pass.lengths]
        each = [
            arranged(length % SLAB, tuple(parent_N), tuple(depth_N), span)
            for length, parent_N, depth_N in zip(one_pass.lengths, parent_BN.tolist(), one_pass.depth_BN.tolist(), strict=True)
        ]
        base_B1 = torch.tensor(slabs_B)[:, None] * SLAB
        natural = max(slabs_B) * SLAB
        columns_C = torch.arange(natural)[None]
        seen = [(columns_C < base_B1)[:, None].expand(-1, one_pass.nodes, -1)] if natural else []
        positions = [columns_C] if natural else []
        gathered = []
        for slab in range(max(len(columns) for columns in each)):
            slots_BC, position_BC, visible_BNC = _stacked([columns[slab] if slab < len(columns) else None for columns in each])
            gathered.append(base_B1 + slots_BC)
            positions.append(base_B1 + position_BC)
            seen.append(visible_BNC)
        masks = {kind: self._mask(seen, positions, one_pass.positions_BN, reach) for kind, reach in self._spec.reaches.items()}
        return _Part(slice(0, one_pass.nodes), natural, gathered, masks)

    def _mask(
        self, seen: list[torch.Tensor], positions: list[torch.Tensor], own_BN: torch.Tensor, reach: Reach
    ) -> torch.Tensor:
        """From pieces of B x N x C and B x C; B x 1 x N x 1 x C."""
        if reach.window is not None:
            pairs = zip(seen, positions, strict=True)
            seen = [piece & (own_BN[:, :, None] - at[:, None] < reach.window) for piece, at in pairs]
        seen_BNC = seen[0] if len(seen) == 1 else torch.cat(seen, -1)
        mask = torch.zeros(seen_BNC.shape, dtype=self._dtype).masked_fill_(~seen_BNC, _HIDDEN)
        return mask[:, None, :, None]


def _in_a_line(one_pass: NativePass, parent_BN: torch.Tensor) -> bool:
    if one_pass.nodes == 1:
        return True
    line = torch.arange(one_pass.nodes)
    return bool((parent_BN == line - 1).all()) and bool((one_pass.depth_BN == line).all())


def _plus(out: torch.Tensor | None, part: torch.Tensor) -> torch.Tensor:
    return part if out is None else torch.add(out, part, out=out) if out.dtype == torch.float32 else out.float() + part


def _picked(x_BJSD: torch.Tensor, slots_BC: torch.Tensor) -> torch.Tensor:
    """B x J x C x D."""
    if len(slots_BC) == 1:
        return x_BJSD.index_select(2, slots_BC[0])
    rows_B1 = torch.arange(len(slots_BC))[:, None]
    return x_BJSD[rows_B1, :, slots_BC].transpose(1, 2).contiguous()


def _stacked(each: list[Columns | None]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Slots, positions and visibility of all rows, in as many columns as the widest row has."""
    width = max(len(columns.slots_K) for columns in each if columns is not None)
    nodes = next(columns.visible_NK.shape[0] for columns in each if columns is not None)
    slots_BC = torch.zeros(len(each), width, dtype=torch.int64)
    position_BC = torch.zeros(len(each), width, dtype=torch.int64)
    visible_BNC = torch.zeros(len(each), nodes, width, dtype=torch.bool)
    for row, columns in enumerate(each):
        if columns is not None:
            own = len(columns.slots_K)
            slots_BC[row, :own] = columns.slots_K
            position_BC[row, :own] = columns.position_K
            visible_BNC[row, :, :own] = columns.visible_NK
    return slots_BC, position_BC, visible_BNC


def _rounded(columns: int) -> int:
    return -(-columns // MULTIPLE) * MULTIPLE
