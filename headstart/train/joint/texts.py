"""Recorded answers as texts to train on: the prompt, the answer, and the states of the untouched model behind it.

Shapes: S recorded states of a shard, D hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

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


def texts_of(shards: Sequence[Shard], length: int) -> tuple[list[Text], int]:
    """All answers in ``shards``, at most ``length`` + 1 tokens each; and how many were cut for that, or left out because their
    prompt alone is as long."""
    texts: list[Text] = []
    cut = 0
    for shard in shards:
        for place in shard.places():
            prompt = shard.prompt_tokens[place.prompt]
            ids = torch.cat([prompt, shard.tokens[place.answer]]).to(torch.int64)
            cut += len(ids) - 1 > length
            ids = ids[: length + 1]
            if len(ids) > len(prompt) > 0:
                texts.append(Text(ids, len(prompt), shard.hidden_SD, place.states.start, place.conversation, place.greedy))
    return texts, cut


def chosen(texts: Sequence[Text], conversations: set[int]) -> list[Text]:
    """The texts of some conversations."""
    return [text for text in texts if text.conversation in conversations]
