"""Given answers, trained on as they are: one pass of the base model over each text, and the answers found in it.

Shapes: T positions of a text, D hidden.
"""

import time
from collections.abc import Container, Sequence

from headstart.errors import DataError
from headstart.models.protocol import BaseModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.account import Lost, check_bad_rows
from headstart.train.answer_spans import MarkedText, chat_texts, plain_text
from headstart.train.conversations import Given
from headstart.train.generation import OnTokens
from headstart.train.shards import Answer
from headstart.train.states import states_of

NOT_FOUND = "its answer cannot be found in what the chat template writes"


class Kept:
    """A source whose answers are the data's own."""

    def __init__(
        self, model: BaseModel, tokenizer: Tokenizer, given: Sequence[Given], stop_ids: frozenset[int], *, max_bad_rows: int = 0
    ) -> None:
        """More than ``max_bad_rows`` rows whose answers cannot be found end the run."""
        self._model, self._tokenizer, self._given, self._stop_ids = model, tokenizer, given, stop_ids
        self._max_bad_rows = max_bad_rows
        self.lost: dict[int, Lost] = {}

    @property
    def total(self) -> int:
        return len(self._given)

    def conversations(self, first: int, count: int, on_tokens: OnTokens) -> list[list[Answer]]:
        out = []
        for number, row in list(enumerate(self._given))[first : first + count]:
            try:
                answers = self.answers(row)
            except DataError as error:
                self.lost[number] = Lost("failed", NOT_FOUND, str(error))
                check_bad_rows(list(self.lost.values()), self._max_bad_rows)
                answers = []
            on_tokens(sum(len(answer.ids) for answer in answers))
            out.append(answers)
        return out

    def expected_tokens(self, sample: int = 32) -> int:
        """About how many answer tokens there are, from some of the rows, evenly spread."""
        step = max(1.0, len(self._given) / sample)
        rows = [self._given[int(i * step)] for i in range(min(sample, len(self._given)))]
        found = 0
        for row in rows:
            try:
                found += sum(end - start for text in self._texts(row) for start, end in text.spans)
            except DataError:
                continue  # counted as lost when its turn comes
        return -(-found * len(self._given) // max(1, len(rows)))

    def rate(self, seconds: float) -> float:
        heard: list[int] = []
        begun = time.perf_counter()
        for number in range(len(self._given)):
            self.conversations(number, 1, heard.append)
            if time.perf_counter() - begun > seconds:
                break
        return max(1, sum(heard)) / (time.perf_counter() - begun)

    def answers(self, row: Given, cut: Container[int] = ()) -> list[Answer]:
        """The answers of a row; those whose numbers are in ``cut`` stopped at a limit, and the end that the template gives them
        was nobody's choice.

        Raises:
            DataError: the chat template does not show where an answer is.
        """
        texts = self._texts(row)
        kind = "given" if row.messages is not None else "text"
        answers: list[Answer] = []
        number = 0
        for text in texts:
            spans = [self._without_end(text.ids, span) if i in cut else span for i, span in enumerate(text.spans, number)]
            number += len(text.spans)
            answers += self._read(MarkedText(text.ids, [(start, end) for start, end in spans if end > start]), kind)
        return answers

    def _texts(self, row: Given) -> list[MarkedText]:
        if row.messages is not None:
            return chat_texts(self._tokenizer, row.messages, self._stop_ids, row.origin)
        assert row.text is not None
        return [plain_text(self._tokenizer, row.text)]

    def _without_end(self, ids: Sequence[int], span: tuple[int, int]) -> tuple[int, int]:
        start, end = span
        return (start, end - 1) if ids[end - 1] in self._stop_ids else span

    def _read(self, text: MarkedText, kind: str) -> list[Answer]:
        ids = text.ids[: self._model.facts.context_length]
        spans = [(start, min(end, len(ids))) for start, end in text.spans if start < len(ids)]
        if not spans:
            return []
        hidden_TD = states_of(self._model, ids[: spans[-1][1]])
        return [Answer(ids[:start], ids[start:end], hidden_TD[start - 1 : end - 2].clone(), False, kind) for start, end in spans]
