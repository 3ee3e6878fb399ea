"""Passes of a base model over random tokens behind a context, for measuring: nothing is ever committed.

Shapes: B rows, N tree nodes, T positions of a chunk.
"""

import heapq
import time
from functools import lru_cache

import torch

from headstart.errors import InvalidParameterError
from headstart.models.protocol import BaseModel
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import Path, TreeShape

_CHUNK = 1024  # positions of one prefill pass
_FIRST_GUESS, _NEXT_RANK, _DEEPER = 0.6, 0.35, 0.8


class WarmPass:
    """A context manager: inside, ``one_pass(nodes, rows)`` verifies and projects trees of the size given.

    Args:
        model: its cache has to be empty; it is so again afterwards.
        context: positions in the cache, in each row.
        nodes: of the largest tree, the root included.
        rows: the most rows of a pass.

    Raises:
        InvalidParameterError: the cache is in use, or the model's context or cache is too small.
    """

    def __init__(self, model: BaseModel, *, context: int, nodes: int, rows: int = 1) -> None:
        facts, cache = model.facts, model.cache
        if min(context, nodes, rows) < 1:
            raise InvalidParameterError(f"context {context}, nodes {nodes}, rows {rows}; expected at least 1 each")
        if cache.rows:
            raise InvalidParameterError(f"the cache holds {cache.rows} rows; measure before or after decoding, not meanwhile")
        deepest = likely_shape(nodes).depth
        if context + deepest >= facts.context_length:
            raise InvalidParameterError(
                f"a context of {context} tokens and a tree {deepest} deep do not fit into the model's {facts.context_length}"
                " positions; measure a shorter context"
            )
        if not cache.fits(rows, context + nodes):
            raise InvalidParameterError(
                f"{rows} rows of {context + nodes} positions do not fit into the cache (max_rows={cache.max_rows},"
                f" cache_tokens={cache.max_tokens}); measure fewer, or load the model with more"
            )
        self._model, self._context, self._nodes, self._rows = model, context, nodes, rows
        self._generator = torch.Generator().manual_seed(0)

    def __enter__(self) -> "WarmPass":
        try:
            for _ in range(self._rows):
                self._model.cache.add_row(self._context + self._nodes)
            for row in range(self._rows):
                for start in range(0, self._context, _CHUNK):
                    chunk = min(_CHUNK, self._context - start)
                    self._model.prefill(self._random_ids(1, chunk), row, [chunk])
        except BaseException:
            self._model.cache.clear()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._model.cache.clear()

    @torch.inference_mode()
    def __call__(self, nodes: int, rows: int = 1) -> None:
        """Hidden states and logits of ``nodes`` nodes in each of the first ``rows`` rows."""
        self._model.lm_head(self._model.verify(self._tree(nodes, rows)))

    @torch.inference_mode()
    def timed(self, nodes: int, rows: int = 1) -> float:
        """Seconds that such a pass takes; the tree is ready before."""
        tree, device = self._tree(nodes, rows), self._model.facts.device
        _wait_for(device)
        began = time.perf_counter()
        self._model.lm_head(self._model.verify(tree))
        _wait_for(device)
        return time.perf_counter() - began

    def _tree(self, nodes: int, rows: int) -> CandidateTree:
        return CandidateTree.of_shape(likely_shape(nodes), self._random_ids(rows, nodes))

    def _random_ids(self, rows: int, count: int) -> torch.Tensor:
        ids = torch.randint(self._model.facts.vocab_size, (rows, count), generator=self._generator)
        return ids.to(self._model.facts.device)


@lru_cache(maxsize=256)
def likely_shape(nodes: int) -> TreeShape:
    """A tree of ``nodes`` nodes such as middling heads would ask for: some nodes deep, wide near the root."""
    chosen: list[Path] = []
    frontier: list[tuple[float, Path]] = [(-_FIRST_GUESS, (0,))]
    while len(chosen) < nodes - 1:
        worth, path = heapq.heappop(frontier)
        chosen.append(path)
        first_guess = _FIRST_GUESS * _DEEPER ** len(path)
        heapq.heappush(frontier, (worth * first_guess, (*path, 0)))
        heapq.heappush(frontier, (worth * _NEXT_RANK, (*path[:-1], path[-1] + 1)))
    return TreeShape(chosen)


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
