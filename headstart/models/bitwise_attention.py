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

_CHUNK = 128  # nodes of a prompt at a time: bounds the scores' memory, and columns behind them need not be read
_FEW = 8  # nodes of a tree at a time where all together need too many columns
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
    """Additive, by kind of layer: B x 1 x C x (N * G), a lone query twice; without the second axis where B is 1."""


class BitwiseAttention:
    """Attention of one pass, layer by layer.

    Args:
        parent_BN: None for nodes that follow one another, as those of a prompt do.
        span: positions that this processor's products add up together (see ``bitwise_probe.py``).
    """

    def __init__(
        self, one_pass: NativePass, parent_BN: torch.Tensor | None, spec: NativeSpec, dtype: torch.dtype, span: int
    ) -> None:
        self._pass, self._spec, self._dtype = one_pass, spec, dtype
        if parent_BN is None or _in_a_line(one_pass, parent_BN):
            starts = range(0, one_pass.nodes, _CHUNK)
            self._parts = [self._line(slice(start, min(start + _CHUNK, one_pass.nodes))) for start in starts]
            slots = max(part.natural for part in self._parts)
        else:
            self._parts = self._tree(parent_BN, span)
            slots = one_pass.live
        self._slots = slots
        self._missing = slots - one_pass.open(slots)
        self._sums_in = torch.promote_types(dtype, torch.float32)

    def __call__(self, layer: int, q_BNHD: torch.Tensor, k_BNJD: torch.Tensor, v_BNJD: torch.Tensor) -> torch.Tensor:
        """Returns B x N x (H * D)."""
        one_pass, spec = self._pass, self._spec
        one_pass.write(layer, k_BNJD, v_BNJD)
        keys, values = one_pass.keys_L[layer], one_pass.values_L[layer]
        if self._missing:  # at the very end of the cache: the columns behind it have to come from somewhere
            keys, values = (F.pad(x, (0, 0, 0, self._missing)) for x in (keys, values))
        rows, nodes, heads, size = q_BNHD.shape
        joined, kind = rows * spec.kv_heads, spec.kinds_L[layer]
        if nodes == 1:  # no axes to swap
            out = self._attend(self._parts[0], kind, q_BNHD.reshape(joined, spec.groups, size), keys, values)
            return out.reshape(rows, 1, heads * size)
        q = q_BNHD.reshape(rows, nodes, spec.kv_heads, spec.groups, size).transpose(1, 2)
        outs = []
        for part in self._parts:
            out = self._attend(part, kind, q[:, :, part.nodes].reshape(joined, -1, size), keys, values)
            outs.append(out.reshape(rows, spec.kv_heads, -1, spec.groups, size).transpose(1, 2))
        return (outs[0] if len(outs) == 1 else torch.cat(outs, 1)).reshape(rows, nodes, heads * size)

    def _attend(self, part: _Part, kind: str, q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """Queries and results (B * J) x (N * G) x D."""
        lone = q.shape[1] == 1
        if lone:  # a product of one row takes another kernel
            q = q.expand(-1, 2, -1)
        if not part.gathered and part.natural < self._slots:
            keys = keys[:, : part.natural]
        weights = self._weights(part, part.masks[kind], q, keys)
        if part.natural == self._slots <= SLAB:
            out = torch.bmm(weights, values)
        elif not part.natural and len(part.gathered) == 1:
            out = torch.bmm(weights, self._picked(values, part.gathered[0]))
        else:
            out = self._slab_by_slab(part, weights, values)
        return out[:, :1] if lone else out

    def _slab_by_slab(self, part: _Part, weights: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        pieces = [values[:, start : min(start + SLAB, part.natural)] for start in range(0, part.natural, SLAB)]
        pieces += [self._picked(values, slots_BC) for slots_BC in part.gathered]
        products, column = [], 0
        for piece in pieces:
            products.append(torch.bmm(weights[..., column : column + piece.shape[1]], piece))
            column += piece.shape[1]
        if len(products) == 2:  # one sum, rounded once, is what float32 would give
            return products[0] + products[1]
        out = products[0].to(self._sums_in)
        for product in products[1:]:
            out += product
        return out.to(values.dtype)

    def _weights(self, part: _Part, mask: torch.Tensor, q: torch.Tensor, keys: torch.Tensor) -> torch.Tensor:
        """Softmax of the scores, (B * J) x (N * G) x C."""
        spec, rows = self._spec, self._pass.rows
        scores = torch.bmm(keys, q.transpose(1, 2))
        scale = spec.scale
        if spec.softcap is not None:
            scores = scores.mul_(scale / spec.softcap).tanh_()
            scale = spec.softcap
        if part.gathered:
            pieces = [scores[:, : part.natural]] if part.natural else []
            pieces += [self._picked(scores, slots_BC) for slots_BC in part.gathered]
            scores = pieces[0] if len(pieces) == 1 else torch.cat(pieces, 1)
        # added where the scores lie, in their own order of axes; softmax turns them on its way
        added_to = scores if rows == 1 else scores.view(rows, spec.kv_heads, *scores.shape[1:])
        torch.add(mask, added_to, alpha=scale, out=added_to)
        return torch.softmax(scores.transpose(1, 2), -1)

    def _picked(self, x: torch.Tensor, slots_BC: torch.Tensor) -> torch.Tensor:
        """From (B * J) x S x D: (B * J) x C x D."""
        if len(slots_BC) == 1:
            return x.index_select(1, slots_BC[0])
        rows_B1 = torch.arange(len(slots_BC))[:, None]
        by_row = x.view(len(slots_BC), -1, *x.shape[1:])
        return by_row[rows_B1, :, slots_BC].transpose(1, 2).reshape(x.shape[0], -1, x.shape[2])

    def _line(self, nodes: slice) -> _Part:
        """Nodes that lie in the slots of their positions."""
        own_BN = self._pass.positions_BN[:, nodes]
        natural = _rounded(max(self._pass.lengths) + nodes.stop)
        position_BC = torch.arange(natural)[None]
        seen = [position_BC <= own_BN[:, :, None]]
        masks = {kind: self._mask(seen, [position_BC], own_BN, reach) for kind, reach in self._spec.reaches.items()}
        return _Part(nodes, natural, [], masks)

    def _tree(self, parent_BN: torch.Tensor, span: int) -> list[_Part]:
        """All nodes at once, or a few at a time where the tree has too many branches for that."""
        nodes, every = self._pass.nodes, parent_BN.tolist()
        whole = self._tree_part(range(nodes), every, span)
        if whole is not None:
            return [whole]
        few = [self._tree_part(range(start, min(start + _FEW, nodes)), every, span) for start in range(0, nodes, _FEW)]
        parts = [part for part in few if part is not None]
        assert len(parts) == len(few), "a few nodes always fit"
        return parts

    def _tree_part(self, nodes: range, parent_BN: list[list[int]], span: int) -> _Part | None:
        one_pass = self._pass
        slabs_B = [length // SLAB for length in one_pass.lengths]
        each: list[tuple[Columns, ...]] = []
        for length, parent_N, depth_N in zip(one_pass.lengths, parent_BN, one_pass.depth_BN.tolist(), strict=True):
            columns = arranged(length % SLAB, tuple(parent_N), tuple(depth_N), span, nodes)
            if columns is None:
                return None
            each.append(columns)
        base_B1 = torch.tensor(slabs_B)[:, None] * SLAB
        natural = max(slabs_B) * SLAB
        columns_C = torch.arange(natural)[None]
        seen = [(columns_C < base_B1)[:, None].expand(-1, len(nodes), -1)] if natural else []
        positions = [columns_C] if natural else []
        gathered = []
        for slab in range(max(len(columns) for columns in each)):
            slots_BC, position_BC, visible_BNC = _stacked([columns[slab] if slab < len(columns) else None for columns in each])
            gathered.append(base_B1 + slots_BC)
            positions.append(base_B1 + position_BC)
            seen.append(visible_BNC)
        these = slice(nodes.start, nodes.stop)
        own_BN = one_pass.positions_BN[:, these]
        masks = {kind: self._mask(seen, positions, own_BN, reach) for kind, reach in self._spec.reaches.items()}
        return _Part(these, natural, gathered, masks)

    def _mask(self, seen: list[torch.Tensor], positions: list[torch.Tensor], own_BN: torch.Tensor, reach: Reach) -> torch.Tensor:
        """From pieces of B x N x C and B x C, as a part has it."""
        if reach.window is not None:
            pairs = zip(seen, positions, strict=True)
            seen = [piece & (own_BN[:, :, None] - at[:, None] < reach.window) for piece, at in pairs]
        seen_BNC = seen[0] if len(seen) == 1 else torch.cat(seen, -1)
        queries = max(2, seen_BNC.shape[1] * self._spec.groups)
        seen_BCN = seen_BNC.transpose(1, 2).repeat_interleave(queries // seen_BNC.shape[1], 2)
        mask = torch.zeros(seen_BCN.shape, dtype=self._dtype).masked_fill_(~seen_BCN, _HIDDEN)
        return mask if self._pass.rows == 1 else mask[:, None]


def _in_a_line(one_pass: NativePass, parent_BN: torch.Tensor) -> bool:
    if one_pass.nodes == 1:
        return True
    line = torch.arange(one_pass.nodes)
    return bool((parent_BN == line - 1).all()) and bool((one_pass.depth_BN == line).all())


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
