"""What is asked: questions of several turns, each in a category."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headstart.errors import DataError
from headstart.text.tokenizer import Tokenizer
from headstart.tuning.prompts import Prompt, prompt_of, read_rows

NO_CATEGORY = "all"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A prompt and what the user asks afterwards."""

    key: str
    """``question_id`` of the file, else the number of the row."""
    category: str
    prompt: Prompt
    follow_ups: tuple[str, ...] = ()
    reference: Any = None
    """What a right answer holds, where the file says it."""

    @property
    def turns(self) -> int:
        return 1 + len(self.follow_ups)

    def ids(self, tokenizer: Tokenizer, answers: Sequence[str]) -> list[int]:
        """The prompt of the turn that comes after these answers."""
        messages = list(self.prompt.messages)
        for answer, follow_up in zip(answers, self.follow_ups, strict=False):
            messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": follow_up}]
        prompt = Prompt(messages=tuple(messages)) if answers else self.prompt
        return list(prompt.ids(tokenizer))


def read_questions(path: Path | None, *, limit: int | None = None, turns: int | None = None) -> list[Question]:
    """The questions of a JSONL file, Spec-Bench's ``question.jsonl`` for instance, or of the bundled one.

    Of more than ``limit`` questions so many are taken, spread over the file, so that every category stays; of a question at most
    ``turns`` turns.

    Raises:
        DataError: the file cannot be read, a row is malformed, or two questions have one key.
    """
    questions = [question_of(row, origin, number) for number, (origin, row) in enumerate(read_rows(path), 1)]
    keys = [question.key for question in questions]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    if twice:
        raise DataError(f"{path}: question_id {twice[0]} is there {keys.count(twice[0])} times; expected each once")
    if limit is not None and limit < len(questions):
        step = len(questions) / limit
        questions = [questions[int(i * step)] for i in range(limit)]
    if turns is None:
        return questions
    return [
        Question(
            key=question.key,
            category=question.category,
            prompt=question.prompt,
            follow_ups=question.follow_ups[: turns - 1],
            reference=question.reference,
        )
        for question in questions
    ]


def question_of(row: dict[str, Any], origin: str, number: int) -> Question:
    """The question that a row of a file holds; raises DataError where it is malformed. ``origin`` is for the message."""
    prompt = prompt_of(row, origin)
    follow_ups = row["turns"][1:] if "turns" in row else []
    if not all(isinstance(turn, str) and turn.strip() for turn in follow_ups):
        raise DataError(f"{origin}: turns are {row['turns']!r:.60}; expected strings that are not empty")
    category = row.get("category", NO_CATEGORY)
    if not isinstance(category, str) or not category:
        raise DataError(f"{origin}: category is {category!r:.60}; expected a string")
    key = row.get("question_id", number)
    if not isinstance(key, (int, str)):
        raise DataError(f"{origin}: question_id is {key!r:.60}; expected a number or a string")
    return Question(key=str(key), category=category, prompt=prompt, follow_ups=tuple(follow_ups), reference=row.get("reference"))
