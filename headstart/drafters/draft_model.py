"""A smaller model of the same tokenizer guesses the next tokens; the base model checks a chain or a tree of them in one pass.

The draft model has its own cache. A step first reads what it has not seen of the text, the root last. Then each further pass of it
goes over the guesses that are likely enough, for all rows at once, until none is or the budget is full. Guesses that were accepted
stay in its cache, the others are taken back.

Sources: Leviathan et al. 2023 and Chen et al. 2023 for the chain; for trees grown by the draft model's own joint probability
EAGLE-2 (Li et al. 2024), section 4. With ``exact`` and a temperature the draft model sees the noise of the text's own draw
(Daliri et al. 2024).

Shapes: B rows, M nodes, T prompt positions, D hidden, V vocabulary.
"""

import math
from collections.abc import Callable, Sequence

import torch

from headstart.drafters.draft_guesses import ranked
from headstart.drafters.draft_rows import DraftRows, Path
from headstart.drafters.mixed_rows import each_kind
from headstart.drafters.noisy_guesses import drawn
from headstart.drafters.protocol import DrafterFacts
from headstart.models.protocol import BaseModel
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree
from headstart.trees.drawn_growth import DrawnGrowth
from headstart.trees.growth import LARGEST, WIDEST
from headstart.trees.level_growth import LevelGrowth

DEEPEST = 16
"""Passes of the draft model in one step at most."""


class DraftModelDrafter:
    """Drafts with ``draft``, whose ids mean the same as the base model's up to ``vocab_size``; further ones are never proposed.

    A row that the draft model has no room for, in its context or its cache, gets the root alone: plain decoding.

    Args:
        confidence: guesses with a smaller chance of being reached are not drafted on.
        branches: guesses for one place at most; 1 is a chain, None as many as the budget has nodes.
    """

    def __init__(
        self, draft: BaseModel, *, vocab_size: int, confidence: float, branches: int | None = None, name: str = "draft-model"
    ) -> None:
        self.facts = DrafterFacts(name=name, depth=DEEPEST, nodes=LARGEST, hidden="none", samples=True)
        self._rows = DraftRows(draft)
        self._device = draft.facts.device
        self._vocab = vocab_size
        self._logits = draft_logits(draft, vocab_size)
        self._least = math.log(confidence) if confidence else -math.inf
        self._branches = branches

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        self._rows.start(row, ids)

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        drawing = [state.draft_temperature is not None for state in sampling]
        if any(drawing) and not all(drawing):
            return each_kind(self.propose, rows, sampling, budgets, self._device)
        limits = [self._limit(row, state, budget) for row, state, budget in zip(rows, sampling, budgets, strict=True)]
        asked = [b for b, (nodes, depth) in enumerate(limits) if nodes > 1 and depth > 0]
        roots = [state.generated[-1] for state in sampling]
        if not asked:
            return CandidateTree.roots_only(torch.tensor(roots, device=self._device))
        step = _Step(self._rows, [rows[b] for b in asked], [sampling[b] for b in asked])
        mine, its_limits = [roots[b] for b in asked], [limits[b] for b in asked]
        tree = self._drawn(step, mine, its_limits) if any(drawing) else self._ranked(step, mine, its_limits)
        others = [b for b in range(len(rows)) if b not in set(asked)]
        parts = [(asked, tree)]
        if others:
            parts.append((others, CandidateTree.roots_only(torch.tensor([roots[b] for b in others]))))
        return CandidateTree.assembled(len(rows), parts, self._device)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        if row in self._rows:
            self._rows.keep(row, tuple(tokens[:-1]))

    def stop(self, row: int) -> None:
        self._rows.stop(row)

    def _ranked(self, step: "_Step", roots: Sequence[int], limits: Sequence[tuple[int, int]]) -> CandidateTree:
        growth = LevelGrowth(torch.tensor(roots, device=self._device), limits, least=self._least)
        while growth.has_open:
            row_M, path_Mk = growth.open_paths()
            open_paths = list(zip(row_M.tolist(), map(tuple, path_Mk.tolist()), strict=True))
            logits_MV = self._logits(step.states(open_paths))
            ranks = min(growth.ranks, self._branches or WIDEST, logits_MV.shape[1])
            growth.extend(*ranked(logits_MV, [step.sampling[b] for b, _ in open_paths], path_Mk.shape[1], ranks))
        return growth.tree()

    def _drawn(self, step: "_Step", roots: Sequence[int], limits: Sequence[tuple[int, int]]) -> CandidateTree:
        replacement = [state.draft_replacement for state in step.sampling]
        growth = DrawnGrowth(roots, limits, least=self._least, branches=self._branches, replacement=replacement)
        while growth.has_open:
            open_paths = growth.open_paths()
            logits_MV = self._logits(step.states(open_paths))
            states = [step.sampling[b] for b, _ in open_paths]
            ahead = [len(path) for _, path in open_paths]
            tokens_MC, _, q_MV = drawn(logits_MV, states, ahead, growth.most, None, self._vocab)
            growth.extend(tokens_MC, q_MV)
        return growth.tree()

    def _limit(self, row: int, state: RowSampling, budget: Budget) -> tuple[int, int]:
        """Nodes and depth of the row's tree; depth 0 where the draft model cannot serve it."""
        if row not in self._rows:
            return 1, 0
        text = state.prompt_length + len(state.generated)
        if self._rows.length(row) == text:
            self._rows.cut(row, text - 1)  # asked again for the same step: the root is read again, to see what follows it
        # the root stands at the text's last position, and a guess that is drafted on behind it
        room = self._rows.model.facts.context_length - text + 1
        unread = state.generated[self._rows.length(row) - state.prompt_length :]
        if room < 1 or not self._rows.knows(unread):
            self._rows.stop(row)
            return 1, 0
        if not self._rows.fits(len(unread) + budget.nodes):
            return 1, 0
        return min(budget.nodes, LARGEST), min(budget.depth, room, DEEPEST)


class _Step:
    """The draft model's states at the root and at guesses, as a step asks for them."""

    def __init__(self, cache: DraftRows, rows: Sequence[int], sampling: Sequence[RowSampling]) -> None:
        self._cache, self._rows, self.sampling = cache, rows, sampling
        self._visited: list[list[Path]] = [[] for _ in rows]

    def states(self, paths: Sequence[tuple[int, Path]]) -> torch.Tensor:
        """The states at the ends of paths, each with its row, M x D. All paths have one length, 0 at the first call and one more
        at each further one."""
        if not paths[0][1]:
            unread = {
                self._rows[b]: self.sampling[b].generated[self._cache.length(self._rows[b]) - self.sampling[b].prompt_length :]
                for b, _ in paths
            }
            return self._cache.feed(unread)
        at = []
        for b, path in paths:
            at.append((b, len(self._visited[b])))
            self._visited[b].append(path)
        # what was visited before is visited again: it takes hardly longer, and a pass writes to one place in the cache
        again = {self._rows[b]: mine for b, mine in enumerate(self._visited) if mine}
        places = {row: place for place, row in enumerate(again)}
        hidden_BND = self._cache.visit(again)
        index = torch.tensor([(places[self._rows[b]], node) for b, node in at], device=hidden_BND.device)
        return hidden_BND[index[:, 0], index[:, 1]]


def draft_logits(draft: BaseModel, vocab_size: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """The draft model's LM head over the ids that the base model knows, in 8 bits where that is faster."""
    facts = draft.facts
    known = min(facts.vocab_size, vocab_size)
    if facts.implementation == "native" and facts.device.type == "cpu" and facts.dtype == torch.bfloat16:
        return draft.projection(torch.arange(known), rough=True)
    return lambda hidden: draft.lm_head(hidden)[..., :known]
