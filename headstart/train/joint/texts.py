"""Recorded answers as texts to train on: the prompt, the answer, and the states of the untouched model behind it.

Shapes: S recorded states of a shard, D hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from headstart.train.recorded import read_recorded
from headstart.train.shards import Shard


@dataclass(frozen=True)
class Text:
    """A prompt and its answer."""

    ids: torch.Tensor
    """int64, prompt and answer; the answer's last token is predicted, and nothing is predicted from it."""
    prompt: int
    """Tokens of the prompt."""
    states_SD: torch.Tensor | None
    """The shard's states: row ``first`` + i is the one from which the untouched model chose answer token i, the last one's is
    missing. None where nothing was recorded."""
    first: int
    conversation: int
    greedy: bool

    @property
    def answer(self) -> int:
        """Tokens of the answer."""
        return len(self.ids) - self.prompt

    def state(self, start: int, stop: int) -> torch.Tensor | None:
        """The untouched model's states behind answer tokens ``start`` to ``stop``, as far as they were recorded."""
        if self.states_SD is None:
            return None
        return self.states_SD[self.first + start : self.first + min(stop, self.answer - 1)]


def read_texts(directory: Path, *, length: int, hidden_size: int, vocab_size: int) -> tuple[list[Text], int]:
    """All answers in the shards of ``directory``, at most ``length`` + 1 tokens each; and how many were cut for that, or left out
    because their prompt alone is as long.

    Raises:
        DataError: there are no shards, one is broken, or they belong to a model of other sizes.
    """
    texts: list[Text] = []
    cut = 0
    for shard in read_recorded(directory, hidden_size=hidden_size, vocab_size=vocab_size):
        found, shortened = _texts(shard, length)
        texts += found
        cut += shortened
    return texts, cut


def _texts(shard: Shard, length: int) -> tuple[list[Text], int]:
    texts: list[Text] = []
    prompt_at = token_at = row = cut = 0
    for i, (prompt, answer) in enumerate(zip(shard.prompt_lengths, shard.answer_lengths, strict=True)):
        whole = [shard.prompt_tokens[prompt_at : prompt_at + prompt], shard.tokens[token_at : token_at + answer]]
        ids = torch.cat(whole).to(torch.int64)
        cut += len(ids) - 1 > length
        ids = ids[: length + 1]
        if len(ids) > prompt > 0:
            texts.append(Text(ids, prompt, shard.hidden_SD, row, shard.conversation_ids[i], shard.greedy[i]))
        prompt_at, token_at, row = prompt_at + prompt, token_at + answer, row + max(0, answer - 1)
    return texts, cut


def chosen(texts: Sequence[Text], conversations: set[int]) -> list[Text]:
    """The texts of some conversations."""
    return [text for text in texts if text.conversation in conversations]
