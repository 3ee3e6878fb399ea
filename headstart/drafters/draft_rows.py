"""The rows of a draft model: its own cache, what of each text is in it, and passes over guesses that may be taken back.

The slot cache keeps its rows dense, so that the last row takes the place of one that is given back. A pass covers all rows up
to the last one that takes part; behind the others it leaves padding, which costs them the guesses of their last pass.

Shapes: B rows of a pass, N nodes, T positions of a chunk, D hidden.
"""

from collections.abc import Mapping, Sequence

import torch

from headstart.models.protocol import BaseModel
from headstart.trees.candidate import PAD, CandidateTree

Path = tuple[int, ...]
"""Ids below the root."""

_CHUNK = 512
_FEW = 16
"""Ids of one row that are read as the nodes of a tree; more are read as a prompt is, which takes any number."""


class DraftRows:
    """Rows are named by the engine's numbers. A row that was refused or dropped is not ``in`` it."""

    def __init__(self, model: BaseModel) -> None:
        self.model = model
        self._rows: list[int] = []
        """By cache row."""
        self._visited: dict[int, list[Path]] = {}
        """By row: which guesses stand behind its text in the cache, in order."""

    def __contains__(self, row: int) -> bool:
        return row in self._rows

    def length(self, row: int) -> int:
        """How many ids of the row's text are in the cache."""
        return self.model.cache.lengths[self._rows.index(row)]

    def fits(self, more: int) -> bool:
        """Whether every row can take so many further ids and guesses."""
        cache = self.model.cache
        return cache.fits(cache.rows, max(cache.lengths, default=0) + more)

    def start(self, row: int, ids: Sequence[int]) -> bool:
        """Read a text; False, and nothing is kept of it, where it does not fit into the context or the cache."""
        cache = self.model.cache
        longest = max([len(ids) + 1, *cache.lengths])
        if len(ids) >= self.model.facts.context_length or not cache.fits(cache.rows + 1, longest) or not self.knows(ids):
            return False
        slot = cache.add_row(len(ids) + 1)
        self._rows.append(row)
        self._read(slot, ids)
        return True

    def knows(self, ids: Sequence[int]) -> bool:
        """Whether the model has embeddings for all of them."""
        return max(ids, default=0) < self.model.facts.vocab_size

    def feed(self, ids: Mapping[int, Sequence[int]]) -> torch.Tensor:
        """Append ids to the texts of rows, at least one each; the hidden state of each row's last one, B x D in the order given."""
        most = max(len(mine) for mine in ids.values())
        if most > _FEW:
            return torch.stack([self._read(self._rows.index(row), mine)[-1] for row, mine in ids.items()])
        slots = {row: self._rows.index(row) for row in ids}
        chains = {row: [tuple(mine[: i + 1]) for i in range(len(mine))] for row, mine in ids.items()}
        hidden_BND = self._pass(chains)
        for row, slot in slots.items():
            self.model.cache.commit(slot, range(len(ids[row])))
        return torch.stack([hidden_BND[slot, len(ids[row]) - 1] for row, slot in slots.items()])

    def visit(self, paths: Mapping[int, Sequence[Path]]) -> torch.Tensor:
        """Run guesses behind the texts of rows; a parent has to be there and come before its children.

        What a row visited before is gone, so that whoever goes on from it names it again. Returns hidden states B x N x D, a row
        of them for each row named, in the order given.
        """
        hidden_BND = self._pass(paths)
        self._visited.update((row, list(mine)) for row, mine in paths.items())
        return hidden_BND[[self._rows.index(row) for row in paths]]

    def keep(self, row: int, path: Path) -> None:
        """The ids of ``path`` belong to the text now: those that were visited stay, and all other guesses are forgotten."""
        places = {visited: node for node, visited in enumerate(self._visited.pop(row, ()))}
        kept: list[int] = []
        while len(kept) < len(path) and path[: len(kept) + 1] in places:
            kept.append(places[path[: len(kept) + 1]])
        if kept:
            self.model.cache.commit(self._rows.index(row), kept)

    def cut(self, row: int, length: int) -> None:
        """Take ids back from the end of a text, so that ``length`` are left."""
        self._visited.pop(row, None)
        self.model.cache.lengths[self._rows.index(row)] = length

    def stop(self, row: int) -> None:
        """Forget a row; one that is not here is ignored."""
        if row not in self._rows:
            return
        slot = self._rows.index(row)
        self.model.cache.release_row(slot)
        last = self._rows.pop()
        if last != row:
            self._rows[slot] = last
            self._visited.pop(last, None)  # only its text has moved
        self._visited.pop(row, None)

    def _read(self, slot: int, ids: Sequence[int]) -> torch.Tensor:
        """Append ids to one row's text; the last chunk's hidden states, T x D."""
        hidden_TD = torch.zeros(0)
        self._visited.pop(self._rows[slot], None)
        for start in range(0, len(ids), _CHUNK):
            chunk_1T = torch.tensor([ids[start : start + _CHUNK]], device=self.model.facts.device)
            hidden_TD = self.model.prefill(chunk_1T, slot, [chunk_1T.shape[1]])[0]
        return hidden_TD

    def _pass(self, paths: Mapping[int, Sequence[Path]]) -> torch.Tensor:
        """Hidden states by cache row."""
        by_slot = {self._rows.index(row): mine for row, mine in paths.items()}
        rows, nodes = max(by_slot) + 1, max(len(mine) for mine in by_slot.values())
        for row in self._rows[:rows]:
            self._visited.pop(row, None)
        return self.model.verify(_forest([by_slot.get(slot, ()) for slot in range(rows)], nodes, self.model.facts.device))


def _forest(rows: Sequence[Sequence[Path]], nodes: int, device: torch.device) -> CandidateTree:
    """The last id of each path as a node. The first ids of paths are roots, all at the position behind the text."""
    tokens = [[PAD] * nodes for _ in rows]
    parent, depth = [[-1] * nodes for _ in rows], [[0] * nodes for _ in rows]
    ancestors = torch.eye(nodes, dtype=torch.bool).repeat(len(rows), 1, 1)
    for b, paths in enumerate(rows):
        places = {path: node for node, path in enumerate(paths)}
        for node, path in enumerate(paths):
            tokens[b][node], depth[b][node] = path[-1], len(path) - 1
            if len(path) > 1:
                parent[b][node] = places[path[:-1]]
                ancestors[b, node] |= ancestors[b, places[path[:-1]]]
    return CandidateTree(
        torch.tensor(tokens, device=device),
        torch.tensor(parent, device=device),
        torch.tensor(depth, device=device),
        ancestors.to(device),
    )
