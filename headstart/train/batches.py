"""From shards to batches of examples: a state, the root that followed it, and the tokens after that.

Shapes: E examples, B examples of a batch, K heads, D hidden, A answer tokens of all shards.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from headstart.train.shards import Shard
from headstart.train.states import States, StoredStates


@dataclass(frozen=True)
class Batch:
    """Examples ready for the heads."""

    hidden_BD: torch.Tensor
    roots_B: torch.Tensor
    targets_BK: torch.Tensor
    """Head k's token; -1 beyond the end of the answer."""
    deciding_BKD: torch.Tensor | None = None
    """The state from which the base model chose head k's token; None if not asked for."""
    known_BK: torch.Tensor | None = None
    """Where that state was recorded: for all but an answer's last token. Elsewhere it is zero."""

    def part(self, where: slice) -> "Batch":
        """Some of the examples."""
        more = [None if each is None else each[where] for each in (self.deciding_BKD, self.known_BK)]
        return Batch(self.hidden_BD[where], self.roots_B[where], self.targets_BK[where], *more)


@dataclass(frozen=True)
class AnswerSpan:
    """Where the examples of one answer lie."""

    first: int
    """Its first example."""
    count: int
    """Examples: answer tokens but the last."""
    conversation: int
    shard: int
    greedy: bool


class Examples:
    """The examples of chosen conversations. Hidden states are read when they are gathered, from the shards' files by default."""

    def __init__(self, shards: Sequence[Shard], conversations: set[int], states: States | None = None) -> None:
        self._states = StoredStates(shards) if states is None else states
        self.tokens_A = torch.cat([shard.tokens for shard in shards]).to(torch.int64)
        self.spans: list[AnswerSpan] = []
        shard_of, rows, at, left = [], [], [], []
        total, token = 0, 0
        for number, shard in enumerate(shards):
            for place in shard.places():
                count = place.num_states
                if count and place.conversation in conversations:
                    self.spans.append(AnswerSpan(total, count, place.conversation, number, place.greedy))
                    shard_of.append(torch.full((count,), number))
                    rows.append(torch.arange(place.states.start, place.states.stop))
                    at.append(torch.arange(token, token + count) + place.answer.start)
                    left.append(torch.arange(count, 0, -1))
                    total += count
            token += len(shard.tokens)
        empty = [torch.zeros(0, dtype=torch.int64)]
        self._shard_E, self._row_E = torch.cat(shard_of or empty), torch.cat(rows or empty)
        self._token_E, self._left_E = torch.cat(at or empty), torch.cat(left or empty)

    def __len__(self) -> int:
        return len(self._token_E)

    def gather(self, index_B: torch.Tensor, heads: int, device: torch.device, *, deciding: bool = False) -> Batch:
        """The examples at ``index_B``, in this order; with ``deciding`` also the states behind the targets."""
        at_B = self._token_E[index_B]
        hidden_BD = self._states(self._shard_E[index_B], self._row_E[index_B])
        batch = Batch(hidden_BD.to(device), self.tokens_A[at_B].to(device), self.targets_at(index_B, heads).to(device))
        if not deciding:
            return batch
        known_BK = torch.arange(1, heads + 1) < self._left_E[index_B][:, None]
        return replace(batch, deciding_BKD=self._deciding(index_B, known_BK).to(device), known_BK=known_BK.to(device))

    def _deciding(self, index_B: torch.Tensor, known_BK: torch.Tensor) -> torch.Tensor:
        heads = known_BK.shape[1]
        row_B1 = self._row_E[index_B][:, None]
        row_BK = torch.where(known_BK, row_B1 + torch.arange(1, heads + 1), row_B1)  # another answer's may have to be computed
        shard_BK = self._shard_E[index_B][:, None].expand(-1, heads)
        states_BKD = self._states(shard_BK.flatten(), row_BK.flatten()).view(*row_BK.shape, -1)
        return states_BKD.masked_fill_(~known_BK[..., None], 0)

    def answer(self, span: AnswerSpan) -> torch.Tensor:
        """All tokens of an answer."""
        first = int(self._token_E[span.first])
        return self.tokens_A[first : first + 1 + span.count]

    def targets(self, span: AnswerSpan) -> torch.Tensor:
        """The tokens of an answer that heads have to guess: all but its first."""
        return self.answer(span)[1:]

    def order(self, batch: int, seed: int) -> "Order":
        """In which order to train on them: in whole answers, if that saves passes of the base model."""
        return Order(len(self), batch, seed, answers=self.spans if self._states.by_answer else ())

    def targets_at(self, index_B: torch.Tensor, heads: int) -> torch.Tensor:
        """The tokens that heads have to guess at some examples, B x K; -1 beyond the end of the answer."""
        ahead_K, at_B = torch.arange(1, heads + 1), self._token_E[index_B]
        reach_BK = (at_B[:, None] + ahead_K).clamp(max=len(self.tokens_A) - 1)
        return torch.where(ahead_K <= self._left_E[index_B][:, None], self.tokens_A[reach_BK], -1)

    def describe(self, index_B: torch.Tensor) -> str:
        """Shards and conversations of a batch, for messages to people."""
        starts = torch.tensor([span.first for span in self.spans])
        spans = (torch.searchsorted(starts, index_B, right=True) - 1).unique().tolist()
        shards = sorted({self.spans[i].shard for i in spans})
        conversations = sorted({self.spans[i].conversation for i in spans})
        return f"shards {_listed(shards)}, conversations {_listed(conversations)}"


class Order:
    """Which examples each step trains on: a new permutation every epoch, from the seed and the epoch alone."""

    def __init__(self, examples: int, batch: int, seed: int, *, answers: Sequence[AnswerSpan] = ()) -> None:
        """With ``answers``, these are permuted, and the examples of each stay together."""
        self._answers = answers
        self.batch = min(batch, examples)
        self.per_epoch = examples // self.batch
        self._examples, self._seed = examples, seed
        self._epoch, self._order_E = -1, torch.zeros(0, dtype=torch.int64)

    def __getitem__(self, step: int) -> torch.Tensor:
        """Indices of the examples of a step; the few that do not fill a batch are left out of that epoch."""
        epoch, within = divmod(step, self.per_epoch)
        if epoch != self._epoch:
            generator = torch.Generator().manual_seed((self._seed * 1_000_003 + epoch) & 0x7FFFFFFFFFFFFFFF)
            self._epoch, self._order_E = epoch, self._permuted(generator)
        return self._order_E[within * self.batch : (within + 1) * self.batch]

    def _permuted(self, generator: torch.Generator) -> torch.Tensor:
        if not self._answers:
            return torch.randperm(self._examples, generator=generator)
        spans = [self._answers[i] for i in torch.randperm(len(self._answers), generator=generator).tolist()]
        return torch.cat([torch.arange(span.first, span.first + span.count) for span in spans])


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers[:8])) + (f" and {len(numbers) - 8} more" if len(numbers) > 8 else "")
