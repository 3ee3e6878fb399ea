"""Given answers, trained on as they are: one pass of the base model over each text, and the answers found in it.

Shapes: T positions of a text, D hidden.
"""

import time
from collections.abc import Sequence

import torch

from headstart.errors import DataError
from headstart.models.protocol import BaseModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.answer_spans import MarkedText, chat_texts, plain_text
from headstart.train.conversations import Given
from headstart.train.generation import OnTokens
from headstart.train.shards import Answer

_CHUNK = 512


class Kept:
    """A source whose answers are the data's own."""

    def __init__(self, model: BaseModel, tokenizer: Tokenizer, given: Sequence[Given], stop_ids: frozenset[int]) -> None:
        self._model, self._tokenizer, self._given, self._stop_ids = model, tokenizer, given, stop_ids
        for row in given:
            if row.messages is not None and all(message["role"] != "assistant" for message in row.messages):
                raise DataError(f"{row.origin}: no assistant message, so there is no answer to keep; leave out --keep-answers")

    @property
    def total(self) -> int:
        return len(self._given)

    def conversations(self, first: int, count: int, on_tokens: OnTokens) -> list[list[Answer]]:
        out = []
        for row in self._given[first : first + count]:
            answers = self._answers(row)
            on_tokens(sum(len(answer.ids) for answer in answers))
            out.append(answers)
        return out

    def rate(self, seconds: float) -> float:
        begun, tokens = time.perf_counter(), 0
        for row in self._given:
            tokens += sum(len(answer.ids) for answer in self._answers(row))
            if time.perf_counter() - begun > seconds:
                break
        return max(1, tokens) / (time.perf_counter() - begun)

    def _answers(self, row: Given) -> list[Answer]:
        if row.messages is not None:
            texts = chat_texts(self._tokenizer, row.messages, self._stop_ids, row.origin)
        else:
            assert row.text is not None
            texts = [plain_text(self._tokenizer, row.text)]
        return [answer for text in texts for answer in self._read(text, "given" if row.messages is not None else "text")]

    def _read(self, text: MarkedText, kind: str) -> list[Answer]:
        ids = text.ids[: self._model.facts.context_length]
        spans = [(start, min(end, len(ids))) for start, end in text.spans if start < len(ids)]
        if not spans:
            return []
        hidden_TD = self._prefill(ids[: spans[-1][1]])
        return [Answer(ids[:start], ids[start:end], hidden_TD[start - 1 : end - 2].clone(), False, kind) for start, end in spans]

    @torch.inference_mode()
    def _prefill(self, ids: Sequence[int]) -> torch.Tensor:
        """Hidden states of a text's positions, T x D."""
        cache = self._model.cache
        row = cache.add_row(len(ids))
        parts = []
        try:
            for start in range(0, len(ids), _CHUNK):
                chunk = torch.tensor([ids[start : start + _CHUNK]], device=self._model.facts.device)
                parts.append(self._model.prefill(chunk, row, [chunk.shape[1]])[0])
        finally:
            cache.release_row(row)
        return torch.cat(parts).cpu()
