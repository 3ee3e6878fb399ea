"""The native decoder for accelerators: passes of fixed shapes, compiled as a whole, replayed as CUDA graphs.

A pass is one graph for each number of rows and nodes (powers of two, filled up with padding). How many cached slots it reads is a
symbol of the graph: a power of two that covers the longest row, so that longer contexts need no new compilation. Prompts, whose
passes are bound by arithmetic, run through the same code uncompiled. Nothing in a pass waits for the device.

Compiled code is kept on disk by torch itself (inductor's FX graph cache, on unless ``TORCHINDUCTOR_FX_GRAPH_CACHE=0``; its place
is ``TORCHINDUCTOR_CACHE_DIR``), so that only the first load on a machine pays for it.

Shapes: L layers, B rows, R allocated rows, N nodes, T positions of a chunk, V vocabulary, J key/value heads, S slots, D hidden size
or size of a head.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from headstart.models.native import NativeModel
from headstart.models.native_pass import NativeCache
from headstart.models.native_rotary import Turn
from headstart.models.protocol import ModelFacts, Projection
from headstart.models.slot_cache import LayerSpec
from headstart.models.static_pass import StaticPass
from headstart.models.tap import Tap
from headstart.trees.candidate import PAD, CandidateTree
from headstart.trees.growth import LARGEST

logger = logging.getLogger("headstart")

TREE_SLOTS = LARGEST
"""Slots of a row behind the context's end: the nodes of the last steps' trees lie there, though none stands that far."""
_FEWEST_SLOTS = 256
_VARIANTS = 64  # graphs of one pass that torch may keep: rows times nodes

Passed = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]
"""Hidden states and those before the last layer, B x N x D; keys and values that the nodes add, L x B x N x J x D."""
Graph = Callable[..., Passed]


class StaticCache(NativeCache):
    """All of its room is taken at once and never moves, since graphs remember addresses."""

    def __init__(self, layers: Sequence[LayerSpec], *, max_rows: int, max_tokens: int, slots: int) -> None:
        slots = min(slots, max_tokens)
        rows = min(max_rows, max_tokens // slots)
        self.slots = slots + 1  # one that no row uses: a stretch of all slots would be a constant to the compiler
        super().__init__(layers, max_rows=rows, max_tokens=rows * self.slots)
        self.reserve(rows, self.slots)
        self.slots = slots

    def fits(self, rows: int, slots: int) -> bool:
        return rows <= self.max_rows and slots <= self.slots


class CompiledModel:
    """A :class:`BaseModel` around the native decoder's weights; the native model's own cache stays empty.

    Args:
        max_rows, cache_tokens: room of the cache, taken at once: as many rows of the context's length and a tree as go into it.
        backend: of ``torch.compile``; None runs the same passes uncompiled. Until :meth:`warm` is called, so do the others.
    """

    def __init__(self, native: NativeModel, *, max_rows: int, cache_tokens: int, backend: str | None = "inductor") -> None:
        self._native, facts, spec = native, native.facts, native.spec
        kept = LayerSpec(spec.kv_heads, spec.head_size, spec.head_size, facts.dtype, facts.device)
        slots = facts.context_length + TREE_SLOTS
        self.cache = StaticCache([kept] * len(spec.kinds_L), max_rows=max_rows, max_tokens=cache_tokens, slots=slots)
        self._backend = backend
        self._slots_S = torch.arange(self._stretches()[-1], device=facts.device)
        self._graph: Graph | None = None
        self._warm: set[tuple[int, int]] = set()

    @property
    def facts(self) -> ModelFacts:
        return self._native.facts

    @property
    def tap(self) -> Tap:
        return self._native.tap

    @property
    def compiles(self) -> bool:
        """Whether verify passes are compiled, or will be once :meth:`warm` is called; False after a failure to."""
        return self._backend is not None

    @property
    def compiled(self) -> bool:
        """Whether they are now."""
        return self._graph is not None

    @torch.inference_mode()
    def warm(self, rows: Iterable[int] = (1,), nodes: Iterable[int] = (1, 8)) -> None:
        """Compile and record the passes over so many rows and nodes now, at every number of slots, instead of when they come.

        Others are compiled at their first use.
        """
        if self._backend is None:
            return
        if self._graph is None:
            self._graph = self._compiled(self._backend)
        for n in sorted({_power(each) for each in nodes}):
            for b in sorted({self._padded_rows(each) for each in rows}):
                for slots in self._stretches():
                    self._run(_nothing(b, n, self.facts.device), [0] * b, slots)

    @torch.inference_mode()
    def prefill(self, ids_BT: torch.Tensor, first_row: int, counts_B: Sequence[int]) -> torch.Tensor:
        rows, chunk = ids_BT.shape
        positions = torch.arange(chunk, device=ids_BT.device)
        tree = CandidateTree(
            tokens_BN=ids_BT,
            parent_BN=(positions - 1).expand(rows, -1),
            depth_BN=positions.expand(rows, -1),
            ancestors_BNN=(positions[:, None] >= positions).expand(rows, -1, -1),
        )
        lengths = self.cache.lengths[first_row : first_row + rows]
        slots_S = self._slots_S[: self._stretch(max(lengths))]
        hidden, before_last, *added = self._pass(*self._inputs(tree, lengths), *self.cache.stacked(), slots_S, first_row)
        self.tap.keep(before_last)
        self._store(added, first_row, lengths, rows, chunk)
        for row, count in enumerate(counts_B, first_row):
            self.cache.lengths[row] += count
        return hidden

    @torch.inference_mode()
    def verify(self, tree: CandidateTree) -> torch.Tensor:
        rows, nodes = tree.rows, tree.nodes
        to_rows = self._padded_rows(rows)
        fitting = [n for b, n in self._warm if b == to_rows and n >= nodes]  # a smaller graph is not worth its compilation
        padded = _filled(tree, to_rows, min(fitting, default=_power(nodes)))
        lengths = self.cache.lengths[:rows] + [0] * (padded.rows - rows)
        hidden, before_last, *added = self._run(padded, lengths, self._stretch(max(lengths)))
        if self.tap.wanted:
            self.tap.keep(before_last[:rows, :nodes].clone())
        self._store(added, 0, lengths, rows, nodes)
        return hidden[:rows, :nodes].clone()  # the graph writes its own memory again at the next step

    def lm_head(self, hidden: torch.Tensor) -> torch.Tensor:
        return self._native.lm_head(hidden)

    def projection(self, ids: torch.Tensor | None = None, *, rough: bool = False) -> Projection:
        return self._native.projection(ids, rough=rough)

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        return self._native.embed(ids)

    def _run(self, tree: CandidateTree, lengths: Sequence[int], stretch: int) -> Passed:
        """A padded pass, compiled where that works."""
        slots_S = self._slots_S[:stretch]
        inputs = (*self._inputs(tree, lengths), *self.cache.stacked(), slots_S)
        if self._graph is not None:
            torch._dynamo.mark_dynamic(slots_S, 0)
            try:
                if tree.tokens_BN.is_cuda:
                    torch.compiler.cudagraph_mark_step_begin()
                if (tree.rows, tree.nodes) in self._warm:
                    return self._graph(*inputs)
                with torch._dynamo.config.patch(recompile_limit=_VARIANTS):
                    out = self._graph(*inputs)
                self._warm.add((tree.rows, tree.nodes))
                return out
            except Exception as error:  # whatever the compiler fails with; the pass itself can still run
                if (tree.rows, tree.nodes) in self._warm:
                    raise
                self._backend = self._graph = None
                logger.warning("compiling the decoder failed, so it runs uncompiled and slower: %s", _in_short(error))
        return self._pass(*inputs)

    def _compiled(self, backend: str) -> Graph:
        device = self.facts.device
        for tensor in (*self.cache.stacked(), *_tensors(self._native)):
            # weights and cache stay where they are: without this a CUDA graph would copy them at every step
            torch._dynamo.mark_static_address(tensor)
        mode = "reduce-overhead" if backend == "inductor" and device.type == "cuda" else None
        graph: Graph = torch.compile(self._pass, backend=backend, mode=mode, dynamic=False, fullgraph=True)
        return graph

    def _pass(
        self,
        ids_BN: torch.Tensor,
        depth_BN: torch.Tensor,
        ancestors_BNN: torch.Tensor,
        lengths_B: torch.Tensor,
        turns: Mapping[str, Turn],
        keys_LRJSD: torch.Tensor,
        values_LRJSD: torch.Tensor,
        slots_S: torch.Tensor,
        first_row: int = 0,
    ) -> Passed:
        """Cuts its part of the cache out inside the graph. Of ``slots_S`` the length alone matters."""
        rows, stretch = ids_BN.shape[0], slots_S.shape[0]
        keys_LBJSD, values_LBJSD = (stored[:, first_row : first_row + rows, :, :stretch] for stored in (keys_LRJSD, values_LRJSD))
        attention = StaticPass(self._native.spec, keys_LBJSD, values_LBJSD, lengths_B, depth_BN, ancestors_BNN)
        hidden_BND, before_last_BND = self._native.through_layers(self._native.embed(ids_BN.clamp(min=0)), turns, attention)
        return (hidden_BND, before_last_BND, *attention.added())

    def _inputs(
        self, tree: CandidateTree, lengths: Sequence[int]
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor, Mapping[str, Turn]]:
        lengths_B = torch.tensor(lengths).to(self.facts.device, non_blocking=True)
        turns = self._native.rotary.turns(lengths_B[:, None] + tree.depth_BN, self.cache.slots)
        return tree.tokens_BN, tree.depth_BN, tree.ancestors_BNN, lengths_B, turns

    def _store(self, added: Sequence[torch.Tensor], first_row: int, lengths: Sequence[int], rows: int, nodes: int) -> None:
        """Put what the first ``nodes`` nodes of the first ``rows`` rows add behind the rows."""
        self.cache.reserve(self.cache.rows, min(max(lengths) + nodes, self.cache.slots + 1))  # no room: says what is written
        device = self.facts.device
        rows_B1 = torch.arange(first_row, first_row + rows, device=device)[:, None]
        slots_BN = torch.tensor(lengths[:rows]).to(device, non_blocking=True)[:, None] + torch.arange(nodes, device=device)
        slots_BN = slots_BN.clamp(max=self.cache.slots)  # padding at the context's end goes to the slot that nobody uses
        for stored_LRJSD, new_LBNJD in zip(self.cache.stacked(), added, strict=True):
            stored_LRJSD[:, rows_B1, :, slots_BN] = new_LBNJD[:, :rows, :nodes].permute(1, 2, 0, 3, 4)

    def _padded_rows(self, rows: int) -> int:
        return min(_power(rows), self.cache.max_rows)

    def _stretch(self, longest: int) -> int:
        """Slots to read so that all before ``longest`` are among them."""
        return next(stretch for stretch in self._stretches() if stretch >= longest)

    def _stretches(self) -> list[int]:
        stretches = [min(_FEWEST_SLOTS, self.cache.slots)]
        while stretches[-1] < self.cache.slots:
            stretches.append(min(2 * stretches[-1], self.cache.slots))
        return stretches


def _power(number: int) -> int:
    """The power of two from ``number`` on."""
    return 1 << (number - 1).bit_length()


def _nothing(rows: int, nodes: int, device: torch.device) -> CandidateTree:
    return _filled(CandidateTree.assembled(rows, [], device), rows, nodes)


def _filled(tree: CandidateTree, rows: int, nodes: int) -> CandidateTree:
    """What a pass reads of the tree, with padding up to ``rows`` rows and ``nodes`` nodes."""
    below, behind = rows - tree.rows, nodes - tree.nodes

    def filled(x: torch.Tensor, padding: tuple[int, ...], value: int = 0) -> torch.Tensor:
        # always a copy: a graph is bound to its inputs' strides, and to whether they were made in inference mode
        return F.pad(x, padding, value=value) if any(padding) else x.clone(memory_format=torch.contiguous_format)

    return CandidateTree(
        tokens_BN=filled(tree.tokens_BN, (0, behind, 0, below), PAD),
        parent_BN=tree.parent_BN,
        depth_BN=filled(tree.depth_BN, (0, behind, 0, below)),
        ancestors_BNN=filled(tree.ancestors_BNN, (0, behind, 0, behind, 0, below)),
    )


def _tensors(holder: Any) -> Iterator[torch.Tensor]:
    """Every tensor that an object of ours holds, at any depth."""
    if isinstance(holder, torch.Tensor):
        yield holder
    elif isinstance(holder, list | tuple):
        for each in holder:
            yield from _tensors(each)
    elif type(holder).__module__.startswith("headstart.models.") and hasattr(holder, "__dict__"):
        for each in vars(holder).values():
            yield from _tensors(each)


def _in_short(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines[:2]) or 'no message'}"
