"""Questions whose answers can be judged: with references, or functions to write with tests."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from headstart.bench.quality.asked import CODE, EXACT_MATCH
from headstart.bench.quality.code_run import code_of, run_code
from headstart.bench.quality.exact_match import MATCHES, last_number, matches, plain_words
from headstart.bench.questions import Question, question_of
from headstart.errors import DataError
from headstart.tuning.prompts import read_rows

ANSWER_TOKENS = {EXACT_MATCH: 64, CODE: 256}
"""What an answer may take, by kind."""
_BUNDLED = "tasks.jsonl"


@dataclass(frozen=True, kw_only=True)
class Task:
    """A question and how to judge its answer."""

    question: Question
    match: str = ""
    """The name of a rule of ``exact_match.py``."""
    references: tuple[str, ...] = ()
    """Right answers, for a question with references."""
    function: str = ""
    """The name of the function to write."""
    tests: tuple[str, ...] = ()
    """Statements that raise where the function is wrong."""

    @property
    def kind(self) -> str:
        return CODE if self.tests else EXACT_MATCH

    def right(self, answer: str) -> bool:
        """Whether it is a right answer. Code is run; see ``code_run.py``."""
        if self.tests:
            return run_code(code_of(answer, self.function), self.tests).passed
        return matches(answer, self.references, self.match)


def read_tasks(path: Path | None) -> list[Task]:
    """The tasks of a JSONL file, or the bundled ones.

    A row has a prompt as those of ``--prompts`` do, and either ``reference``, a right answer or a list of them, with ``match``
    ("exact" unless given), or ``function`` and ``tests``.

    Raises:
        DataError: the file cannot be read, a row is malformed, or two have one key.
    """
    if path is None:
        with as_file(files("headstart") / "assets" / _BUNDLED) as bundled:
            return read_tasks(bundled)
    tasks = [_task(row, origin, number) for number, (origin, row) in enumerate(read_rows(path), 1)]
    keys = [task.question.key for task in tasks]
    twice = next((key for key in keys if keys.count(key) > 1), None)
    if twice is not None:
        raise DataError(f"{path}: question_id {twice} is there {keys.count(twice)} times; expected each once")
    return tasks


def _task(row: dict[str, Any], origin: str, number: int) -> Task:
    question = question_of(row, origin, number)
    if question.follow_ups:
        raise DataError(f"{origin}: {question.turns} turns; expected one, whose answer is judged")
    if "tests" in row:
        function = row.get("function")
        if not isinstance(function, str) or not function.isidentifier():
            raise DataError(f"{origin}: function is {function!r:.60}; expected the name of the function to write")
        return Task(question=question, function=function, tests=_strings(row["tests"], "tests", origin))
    if "reference" not in row:
        raise DataError(f"{origin}: neither reference nor tests; expected one of them, to judge the answer by")
    match = row.get("match", "exact")
    if match not in MATCHES:
        raise DataError(f"{origin}: match is {match!r:.60}; expected one of {', '.join(MATCHES)}")
    given = row["reference"]
    references = _strings([given] if isinstance(given, str) else given, "reference", origin)
    empty = [text for text in references if (last_number(text) is None if match == "number" else not plain_words(text))]
    if empty:
        raise DataError(f"{origin}: reference {empty[0]!r:.60} has no {'number' if match == 'number' else 'word'} to compare with")
    return Task(question=question, match=match, references=references)


def _strings(value: Any, name: str, origin: str) -> tuple[str, ...]:
    good: Sequence[Any] = value if isinstance(value, list) else []
    if not good or not all(isinstance(text, str) and text.strip() for text in good):
        raise DataError(f"{origin}: {name} is {value!r:.60}; expected strings that are not empty")
    return tuple(good)
