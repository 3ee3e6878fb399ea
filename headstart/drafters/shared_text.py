"""A draft model with another tokenizer: the two share the text, and nothing but the text.

The draft model reads the text so far in its own tokens and writes on; what it wrote is read again in the base model's tokens and
proposed as a chain. Only the ends of texts are decoded and encoded again, so that a step costs the same however long the text is.
That the pieces fit is a guess as all else here is: where it fails, guesses are wrong, and the text is the base model's as always.

Shapes: B rows, T prompt positions, D hidden, M accepted nodes, V vocabulary of the draft model.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import torch
from transformers import PreTrainedTokenizerBase

from headstart.drafters.draft_model import DEEPEST, draft_logits
from headstart.drafters.draft_rows import DraftRows
from headstart.drafters.protocol import DrafterFacts
from headstart.models.protocol import BaseModel
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape

_WINDOW = 12
"""Ids at the end of a text that are read again with what follows: new characters can change the tokens just before them, and by
the usual rules of splitting none before the last word."""
_INCOMPLETE = "\ufffd"
_LONGEST_CHARACTER = 8
"""Ids that a character takes at most (4 bytes, and then some). What is no text after so many never will be one: without an end,
all of it would be spelled anew each step."""


class Spelling:
    """A tokenizer without any additions of its own: special tokens are spelled out, and read where they stand in a text."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        self.special_ids = frozenset(tokenizer.all_special_ids)

    def spell(self, ids: Sequence[int]) -> str:
        text = self._tokenizer.decode(list(ids), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return cast(str, text)

    def read(self, text: str, *, whole: bool = False) -> list[int]:
        """``whole``: the text is one from its beginning, and what the model expects there (a BOS, for many) is put before it."""
        return list(self._tokenizer(text, add_special_tokens=whole, verbose=False)["input_ids"])

    def spell_after(self, before: Sequence[int], ids: Sequence[int]) -> str:
        """What ``ids`` add to the text of the ids before them."""
        known, together = self.spell(before), self.spell([*before, *ids])
        return together[len(known) :] if together.startswith(known) else self.spell(ids)

    def read_after(self, before: Sequence[int], text: str) -> tuple[int, list[int]]:
        """The ids of ``text`` behind others: how many of ``before`` stay as they are, and what follows them."""
        for start in range(len(before)):  # from where the ids are those that their own text is read as: mostly the first
            known = list(before[start:])
            spelled = self.spell(known)
            if self.read(spelled) == known:
                together = self.read(spelled + text)
                same = next((i for i, (old, new) in enumerate(zip(known, together, strict=False)) if old != new), len(known))
                return start + min(same, len(together)), together[same:]
        return len(before), self.read(text)


@dataclass
class _Text:
    """One row's text in the draft model's ids, and the base model's ids that are not in it yet."""

    ids: list[int]
    window: list[int]
    """The base model's last ids that are spelled in ``ids``."""
    seen: int = 0
    """How many generated ids have been looked at."""
    unspelled: list[int] = field(default_factory=list)
    """The base model's last ids where they end inside a character."""


class SharedTextDrafter:
    """Proposes chains that ``draft`` wrote as text, greedily whatever the temperature.

    Args:
        confidence: it writes on while the chance of all that it has written is not below this.
    """

    def __init__(
        self,
        draft: BaseModel,
        tokenizer: PreTrainedTokenizerBase,
        base_tokenizer: PreTrainedTokenizerBase,
        *,
        confidence: float,
        name: str = "draft-model",
    ) -> None:
        self.facts = DrafterFacts(name=name, depth=DEEPEST, nodes=DEEPEST + 1, hidden="none")
        self._rows = DraftRows(draft)
        self._theirs, self._ours = Spelling(tokenizer), Spelling(base_tokenizer)
        self._ends = frozenset(draft.facts.eos_ids) | self._theirs.special_ids
        self._logits = draft_logits(draft, draft.facts.vocab_size)
        self._confidence = confidence
        self._texts: dict[int, _Text] = {}

    def start(self, row: int, ids: Sequence[int], hidden_TD: torch.Tensor) -> None:
        read = self._theirs.read(self._ours.spell(ids), whole=True)
        if read and self._rows.start(row, read):
            self._texts[row] = _Text(read, list(ids[-_WINDOW:]))

    def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
        room = {}
        for row, state, budget in zip(rows, sampling, budgets, strict=True):
            most = min(budget.nodes - 1, budget.depth, DEEPEST)
            if row in self._texts and most > 0 and self._caught_up(row, state.generated, most):
                room[row] = most
        written = self._write(room)
        parts = []
        for b, (row, state) in enumerate(zip(rows, sampling, strict=True)):
            guesses = self._in_our_ids(self._texts[row], written[row])[: room[row]] if row in room else []
            tokens_1N = torch.tensor([[state.generated[-1], *guesses]])
            parts.append(([b], CandidateTree.of_shape(TreeShape.chain(len(guesses)), tokens_1N)))
        return CandidateTree.assembled(len(rows), parts, self._rows.model.facts.device)

    def commit(self, row: int, tokens: Sequence[int], hidden_MD: torch.Tensor) -> None:
        pass  # every written id is in the row's sampling state at the next proposal

    def stop(self, row: int) -> None:
        self._rows.stop(row)
        self._texts.pop(row, None)

    def _caught_up(self, row: int, generated: Sequence[int], most: int) -> bool:
        """Bring the row's text up to date; False where there is nothing to write on from, or no room to."""
        text = self._texts[row]
        text.unspelled += generated[text.seen :]
        text.seen = len(generated)
        added = self._ours.spell_after(text.window, text.unspelled)
        if (not added or added.endswith(_INCOMPLETE)) and len(text.unspelled) < _LONGEST_CHARACTER:
            return False
        text.window = [*text.window, *text.unspelled][-_WINDOW:]
        text.unspelled = []
        tail = text.ids[-_WINDOW:]
        same, rest = self._theirs.read_after(tail, added)
        kept = len(text.ids) - len(tail) + same
        text.ids[kept:] = rest
        if self._rows.length(row) > min(kept, len(text.ids) - 1):  # the last id is always read anew: what follows it is asked for
            self._rows.cut(row, min(kept, len(text.ids) - 1))
        self._rows.keep(row, tuple(text.ids[self._rows.length(row) : -1]))
        if len(text.ids) + most > self._rows.model.facts.context_length or not self._rows.knows(rest):
            self.stop(row)
            return False
        return self._rows.fits(len(text.ids) - self._rows.length(row) + most)

    def _write(self, room: dict[int, int]) -> dict[int, list[int]]:
        """The ids that the draft model writes on with, row by row, all rows together."""
        written: dict[int, list[int]] = {row: [] for row in room}
        if not room:
            return written
        chance = dict.fromkeys(room, 1.0)
        active = list(room)
        state_BD = self._rows.feed({row: self._texts[row].ids[self._rows.length(row) :] for row in room})
        while True:
            best = self._logits(state_BD).float().softmax(-1).max(-1)
            for row, token, probability in zip(list(active), best.indices.tolist(), best.values.tolist(), strict=True):
                chance[row] *= probability
                if token in self._ends:
                    active.remove(row)
                    continue
                written[row].append(token)
                if len(written[row]) == room[row] or chance[row] < self._confidence:
                    active.remove(row)
            if not active:
                return written
            chains = {row: [tuple(ids[: i + 1]) for i in range(len(ids))] for row, ids in written.items() if ids}
            hidden_BND = self._rows.visit(chains)
            places = {row: place for place, row in enumerate(chains)}
            state_BD = torch.stack([hidden_BND[places[row], len(written[row]) - 1] for row in active])

    def _in_our_ids(self, text: _Text, written: Sequence[int]) -> list[int]:
        """What was written, in the base model's ids; nothing where it would change an id that stands already."""
        added = self._theirs.spell_after(text.ids[-_WINDOW:], written).rstrip(_INCOMPLETE)
        if not added:
            return []
        same, guesses = self._ours.read_after(text.window, added)
        return guesses if same == len(text.window) else self._ours.read(added)
