"""Attention whose bits depend on a query's position and on what stands before it, and on nothing else.

Not on the tree, the chunk of a prompt, or the rows beside it. A query in slab number s (of ``SLAB`` positions) sums the positions
before slab s - 1 in one product (*far*), slab s - 1 in another and its own slab in a third; the three, rounded, are added in
float32. Far is committed context only, so that a tree that crosses from one slab into the next has it at hand for both;
``bitwise_columns.py`` says how the columns of the slabs that hold a tree are laid out. It holds for bfloat16 on a CPU whose
kernels ``bitwise_probe.py`` has tried, for products of at least two rows.

Shapes: B rows, N nodes, H query heads, J key/value heads, G query heads per key/value head, S slots, C columns, D size of a head,
L layers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F

from headstart.errors import TreeError
from headstart.models.bitwise_columns import MOST_COLUMNS, MULTIPLE, SLAB, Columns, arranged
from headstart.models.bitwise_probe import FAR_FROM, fewest_rows, long_products_fit
from headstart.models.masks import Reach
from headstart.models.native_pass import NativePass
from headstart.models.native_spec import NativeSpec

_CHUNK = 128  # nodes of a prompt at a time: bounds the scores' memory, and columns behind them need not be read
_FEW = 8  # nodes of a tree at a time where all together need too many columns
_HIDDEN = float("-inf")
DEEPEST = 16
"""Edges between the root of a tree and its last node. A tree may reach into the next slab, and not beyond it; equal bits are
tested up to this depth, and no drafter gains by more."""


@dataclass
class _Columns:
    """What the columns of a part hold, while it is being put together. The natural ones are slots 0, 1, 2, ... of every row."""

    natural: int
    pieces: list[int]
    """Natural columns of each product; their sum is ``natural``."""
    seen: list[torch.Tensor]
    """B x N x C, piece by piece as they come; first the natural ones, if there are any."""
    positions: list[torch.Tensor]
    """B x C of the same."""
    gathered: list[torch.Tensor]
    """B x C slots of each piece behind the natural ones."""

    def gather(self, slots_BC: torch.Tensor, position_BC: torch.Tensor, seen_BNC: torch.Tensor) -> None:
        self.gathered.append(slots_BC)
        self.positions.append(position_BC)
        self.seen.append(seen_BNC)


@dataclass(frozen=True)
class _Part:
    """Nodes that are attended together."""

    nodes: slice
    slots: int
    """Slots whose keys are read."""
    natural: list[int]
    """Natural columns of each product."""
    pieces: list[int]
    """Columns of each product, these and the gathered ones behind them."""
    values_PL: Sequence[Sequence[torch.Tensor]]
    """By piece of natural columns and layer, as views: (B * J) x C x D."""
    gathered: list[torch.Tensor]
    """Slots of each piece behind those: C if there is one row, else B x C."""
    columns: torch.Tensor | None
    """Slots of all columns, likewise; None where all are natural."""
    masks: Mapping[str, torch.Tensor]
    """Additive, by kind of layer: B x 1 x C x (N * G), too few queries several times; without the second axis where B is 1."""


class BitwiseAttention:
    """Attention of one pass, layer by layer.

    Args:
        parent_BN: None for nodes that follow one another, as those of a prompt do.
        span: positions that this processor's products add up together (see ``bitwise_probe.py``).

    Raises:
        TreeError: the tree is deeper than ``DEEPEST``.
    """

    def __init__(
        self, one_pass: NativePass, parent_BN: torch.Tensor | None, spec: NativeSpec, dtype: torch.dtype, span: int
    ) -> None:
        deepest = 0 if parent_BN is None else int(one_pass.depth_BN.max())
        if deepest > DEEPEST:
            raise TreeError(
                f"the tree is {deepest} deep, and bits are kept equal in trees up to {DEEPEST} deep; cut it with"
                f" tree.limited(depth={DEEPEST}), or load the model with bitwise=False"
            )
        self._pass, self._spec, self._dtype, self._span = one_pass, spec, dtype, span
        self._at_once = long_products_fit()
        self._sums_in = torch.promote_types(dtype, torch.float32)
        self._fewest = fewest_rows(spec.head_size)
        if parent_BN is None or _in_a_line(one_pass, parent_BN):
            parts = [(nodes, self._line(nodes)) for nodes in self._stretches()]
        else:
            parts = self._tree(parent_BN)
        slots = max(one_pass.live, *(columns.natural for _, columns in parts))
        self._missing = slots - one_pass.open(slots)
        self._parts = [self._finished(nodes, columns, slots) for nodes, columns in parts]

    def __call__(self, layer: int, q_BNHD: torch.Tensor, k_BNJD: torch.Tensor, v_BNJD: torch.Tensor) -> torch.Tensor:
        """Returns B x N x (H * D)."""
        one_pass, spec = self._pass, self._spec
        one_pass.write(layer, k_BNJD, v_BNJD)
        rows, nodes, heads, size = q_BNHD.shape
        joined = rows * spec.kv_heads
        if nodes == 1:  # no axes to swap
            out = self._attend(self._parts[0], layer, q_BNHD.reshape(joined, spec.groups, size))
            return out.reshape(rows, 1, heads * size)
        q = q_BNHD.reshape(rows, nodes, spec.kv_heads, spec.groups, size).transpose(1, 2)
        if len(self._parts) == 1:
            out = self._attend(self._parts[0], layer, q.reshape(joined, -1, size))
            return out.view(rows, spec.kv_heads, nodes, spec.groups, size).transpose(1, 2).reshape(rows, nodes, heads * size)
        outs = []
        for part in self._parts:
            out = self._attend(part, layer, q[:, :, part.nodes].reshape(joined, -1, size))
            outs.append(out.reshape(rows, spec.kv_heads, -1, spec.groups, size).transpose(1, 2))
        return torch.cat(outs, 1).reshape(rows, nodes, heads * size)

    def _attend(self, part: _Part, layer: int, q: torch.Tensor) -> torch.Tensor:
        """Queries and results (B * J) x (N * G) x D."""
        queries = q.shape[1]
        if queries < self._fewest:
            q = q.repeat(1, -(-self._fewest // queries), 1)
        weights = self._weights(part, layer, q)
        if self._missing:
            values = list(self._padded(self._pass.values_L[layer])[:, : sum(part.natural)].split(part.natural, 1))
        else:
            values = [by_layer[layer] for by_layer in part.values_PL]
        if part.gathered:
            stored = self._pass.values_L[layer]
            values += [self._picked(stored, slots) for slots in part.gathered]
        if len(values) == 1:
            out = torch.bmm(weights, values[0])
        else:
            products = [torch.bmm(w, v) for w, v in zip(weights.split(part.pieces, -1), values, strict=True)]
            out = self._sum(products)
        return out[:, :queries]

    def _sum(self, products: Sequence[torch.Tensor]) -> torch.Tensor:
        if len(products) == 2:  # one sum, rounded once, is what float32 would give
            return products[0] + products[1]
        out = products[0].to(self._sums_in)
        for product in products[1:]:
            out += product
        return out.to(self._dtype)

    def _weights(self, part: _Part, layer: int, q: torch.Tensor) -> torch.Tensor:
        """Softmax of the scores, (B * J) x (N * G) x C."""
        spec, rows, mask = self._spec, self._pass.rows, part.masks[self._spec.kinds_L[layer]]
        keys = self._padded(self._pass.keys_L[layer])
        if part.slots < keys.shape[1]:
            keys = keys[:, : part.slots]
        scores = torch.bmm(keys, q.transpose(1, 2))
        scale = spec.scale
        if spec.softcap is not None:
            scores = scores.mul_(scale / spec.softcap).tanh_()
            scale = spec.softcap
        if part.columns is not None:
            scores = self._picked(scores, part.columns)
        # added where the scores lie, in their own order of axes; softmax turns them on its way
        added_to = scores if rows == 1 else scores.view(rows, spec.kv_heads, *scores.shape[1:])
        torch.add(mask, added_to, alpha=scale, out=added_to)
        return torch.softmax(scores.transpose(1, 2), -1)

    def _padded(self, stored: torch.Tensor) -> torch.Tensor:
        """At the very end of the cache the columns behind it have to come from somewhere."""
        return F.pad(stored, (0, 0, 0, self._missing)) if self._missing else stored

    def _picked(self, x: torch.Tensor, slots: torch.Tensor) -> torch.Tensor:
        """From (B * J) x S x D: (B * J) x C x D."""
        if slots.dim() == 1:
            return x.index_select(1, slots)
        rows_B1 = torch.arange(len(slots))[:, None]
        by_row = x.view(len(slots), -1, *x.shape[1:])
        return by_row[rows_B1, :, slots].transpose(1, 2).reshape(x.shape[0], -1, x.shape[2])

    def _stretches(self) -> list[slice]:
        """Nodes of a prompt that lie in one slab, whatever the row, and are few enough."""
        nodes, stretches, start = self._pass.nodes, [], 0
        while start < nodes:
            to_the_end = min(SLAB - (length + start) % SLAB for length in set(self._pass.lengths))
            stretches.append(slice(start, min(start + min(to_the_end, _CHUNK), nodes)))
            start = stretches[-1].stop
        return stretches

    def _line(self, nodes: slice) -> _Columns:
        """Nodes that lie in the slots of their positions."""
        lengths = self._pass.lengths
        own_BN = self._pass.positions_BN[:, nodes]
        slabs_B = [(length + nodes.start) // SLAB for length in lengths]
        far = self._far(max(slabs_B) - 1)
        if min(slabs_B) == max(slabs_B) and far == max(slabs_B[0] - 1, 0) * SLAB:
            natural = _rounded(max(lengths) + nodes.stop)
            pieces = [*self._cut(far), *([SLAB] if slabs_B[0] else [])]
            position_1C = torch.arange(natural)[None]
            seen_BNC = position_1C <= own_BN[:, :, None]
            return _Columns(natural, [*pieces, natural - sum(pieces)], [seen_BNC], [position_1C], [])
        columns = self._apart(slabs_B, far, torch.zeros_like(own_BN, dtype=torch.bool))
        base_B1 = torch.tensor(slabs_B)[:, None] * SLAB
        reached = max(length + nodes.stop - slab * SLAB for length, slab in zip(lengths, slabs_B, strict=True))
        position_BC = base_B1 + torch.arange(_rounded(reached))
        # columns behind the last node are seen by nobody and may hold anything
        columns.gather(position_BC.clamp(max=self._pass.live - 1), position_BC, position_BC[:, None] <= own_BN[:, :, None])
        return columns

    def _tree(self, parent_BN: torch.Tensor) -> list[tuple[slice, _Columns]]:
        """All nodes at once, or a few at a time where the tree has too many branches for that."""
        nodes, every = self._pass.nodes, parent_BN.tolist()
        whole = self._tree_part(range(nodes), every)
        if whole is not None:
            return [(slice(0, nodes), whole)]
        return [part for start in range(0, nodes, _FEW) for part in self._few_nodes(range(start, min(start + _FEW, nodes)), every)]

    def _few_nodes(self, nodes: range, parent_BN: list[list[int]]) -> list[tuple[slice, _Columns]]:
        """As many together as there is room for: with long spans even a few branches can need too many columns."""
        columns = self._tree_part(nodes, parent_BN)
        if columns is not None:
            return [(slice(nodes.start, nodes.stop), columns)]
        half = len(nodes) // 2
        assert half, "a single node always fits"
        return self._few_nodes(nodes[:half], parent_BN) + self._few_nodes(nodes[half:], parent_BN)

    def _tree_part(self, nodes: range, parent_BN: list[list[int]]) -> _Columns | None:
        one_pass = self._pass
        slabs_B = [length // SLAB for length in one_pass.lengths]
        each: list[tuple[Columns, ...]] = []
        for length, parent_N, depth_N in zip(one_pass.lengths, parent_BN, one_pass.depth_BN.tolist(), strict=True):
            columns = arranged(length % SLAB, tuple(parent_N), tuple(depth_N), self._span, nodes)
            if columns is None:
                return None
            each.append(columns)
        base_B1 = torch.tensor(slabs_B)[:, None] * SLAB
        beyond_BN = one_pass.positions_BN[:, nodes.start : nodes.stop] >= base_B1 + SLAB
        crossing = any(len(columns) > 1 for columns in each)
        far = self._far(max(slab if len(columns) > 1 else slab - 1 for slab, columns in zip(slabs_B, each, strict=True)))
        if min(slabs_B) == max(slabs_B) and not crossing and far == max(slabs_B[0] - 1, 0) * SLAB:
            natural = slabs_B[0] * SLAB
            part = _Columns(natural, [*self._cut(far), *([SLAB] if natural else [])], [], [], [])
            if natural:
                part.positions.append(torch.arange(natural)[None])
                part.seen.append(torch.ones(len(slabs_B), len(nodes), natural, dtype=torch.bool))
        else:
            part = self._apart(slabs_B, far, beyond_BN)
        for slab in range(max(len(columns) for columns in each)):
            slots_BC, position_BC, visible_BNC = _stacked([columns[slab] if slab < len(columns) else None for columns in each])
            part.gather(base_B1 + slots_BC, base_B1 + position_BC, visible_BNC)
        return part

    def _apart(self, slabs_B: list[int], far: int, beyond_BN: torch.Tensor) -> _Columns:
        """Far as natural columns and the slab before the root's gathered, where the two cannot be one stretch of columns.

        Nodes that are ``beyond`` the root's slab have that slab before theirs, and what is gathered here is far to them.
        """
        columns_1C = torch.arange(far)[None]
        base_B1 = torch.tensor(slabs_B)[:, None] * SLAB
        ends_BN = torch.where(beyond_BN, base_B1, base_B1 - SLAB)
        natural = [columns_1C] if far else []
        part = _Columns(far, self._cut(far), [one < ends_BN[:, :, None] for one in natural], natural, [])
        if max(slabs_B):
            slots_BC = (base_B1 - SLAB).clamp(min=0) + torch.arange(SLAB)
            part.gather(slots_BC, slots_BC, (~beyond_BN & (base_B1 > 0))[:, :, None].expand(-1, -1, SLAB))
        return part

    def _far(self, slabs: int) -> int:
        """Columns of a product over so many slabs: a few lengths are cut otherwise than all longer ones, and avoided."""
        columns = max(slabs, 0) * SLAB
        return FAR_FROM if self._at_once and MOST_COLUMNS < columns < FAR_FROM else columns

    def _cut(self, far: int) -> list[int]:
        """Columns of each product over the far ones."""
        if self._at_once:
            return [far] if far else []
        return [SLAB] * (far // SLAB)

    def _finished(self, nodes: slice, columns: _Columns, slots: int) -> _Part:
        own_BN = self._pass.positions_BN[:, nodes]
        masks = {kind: self._mask(columns.seen, columns.positions, own_BN, reach) for kind, reach in self._spec.reaches.items()}
        starts = [sum(columns.pieces[:piece]) for piece in range(len(columns.pieces))]
        values_PL = [self._pass.values_in(start, start + width) for start, width in zip(starts, columns.pieces, strict=True)]
        gathered, one = columns.gathered, self._pass.rows == 1
        if gathered:
            natural_BC = torch.arange(columns.natural).expand(self._pass.rows, -1)
            every_BC = torch.cat([natural_BC, *gathered], 1)
        return _Part(
            nodes=nodes,
            slots=slots if gathered else columns.natural,
            natural=columns.pieces,
            pieces=[*columns.pieces, *(slots_BC.shape[1] for slots_BC in gathered)],
            values_PL=values_PL,
            gathered=[slots_BC[0] if one else slots_BC for slots_BC in gathered],
            columns=None if not gathered else every_BC[0] if one else every_BC,
            masks=masks,
        )

    def _mask(self, seen: list[torch.Tensor], positions: list[torch.Tensor], own_BN: torch.Tensor, reach: Reach) -> torch.Tensor:
        """From pieces of B x N x C and B x C, as a part has it."""
        if reach.window is not None:
            pairs = zip(seen, positions, strict=True)
            seen = [piece & (own_BN[:, :, None] - at[:, None] < reach.window) for piece, at in pairs]
        seen_BNC = seen[0] if len(seen) == 1 else torch.cat(seen, -1)
        seen_BCN = seen_BNC.transpose(1, 2).repeat_interleave(self._spec.groups, 2)
        if (queries := seen_BCN.shape[2]) < self._fewest:
            seen_BCN = seen_BCN.repeat(1, 1, -(-self._fewest // queries))
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
