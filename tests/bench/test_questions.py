"""Questions with their turns and categories."""

import json
from pathlib import Path

import pytest

from headstart.bench.questions import read_questions
from headstart.errors import DataError
from tests.tiny_models import letter_ids, letters_tokenizer


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_spec_bench_rows(tmp_path: Path) -> None:
    file = write(
        tmp_path / "question.jsonl",
        {"question_id": 81, "category": "writing", "turns": ["ab", "cd"], "reference": ["x"]},
        {"category": "qa", "turns": ["e"]},
        {"prompt": "f"},
    )
    first, second, third = read_questions(file)
    assert (first.key, first.category, first.turns, first.reference) == ("81", "writing", 2, ["x"])
    assert (second.key, second.category, second.turns) == ("2", "qa", 1)
    assert (third.key, third.category, third.turns) == ("3", "all", 1)
    tokenizer = letters_tokenizer()
    assert first.ids(tokenizer, []) == [1, *letter_ids("ab")]  # the template writes <s> and the messages
    assert first.ids(tokenizer, ["xyz"]) == [1, *letter_ids("abxyzcd")]
    assert [question.turns for question in read_questions(file, turns=1)] == [1, 1, 1]


def test_a_limit_is_spread_over_the_file(tmp_path: Path) -> None:
    """Two of six rows, three apart."""
    file = write(tmp_path / "q.jsonl", *({"question_id": i, "turns": [str(i)]} for i in range(6)))
    assert [question.key for question in read_questions(file, limit=2)] == ["0", "3"]
    assert len(read_questions(file, limit=9)) == 6


def test_the_bundled_questions() -> None:
    questions = read_questions(None)
    assert len(questions) == 64
    assert {question.category for question in questions} == {
        "advice", "coding", "knowledge", "language", "math and logic", "text", "writing",
    }  # fmt: skip
    assert sum(question.turns == 2 for question in questions) == 13


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"turns": ["a", ""]}, "expected strings that are not empty"),
        ({"turns": ["a"], "category": 3}, "category is 3"),
        ({"turns": ["a"], "question_id": [1]}, "question_id is [1]"),
        ({"question": "a"}, "keys ['question']"),
    ],
)
def test_malformed_rows(row: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read_questions(write(tmp_path / "q.jsonl", row))
    assert message in str(error.value)
    assert "q.jsonl:1" in str(error.value)


def test_a_key_that_is_there_twice(tmp_path: Path) -> None:
    file = write(tmp_path / "q.jsonl", {"question_id": 1, "turns": ["a"]}, {"question_id": "1", "turns": ["b"]})
    with pytest.raises(DataError, match="question_id 1 is there 2 times"):
        read_questions(file)


def test_an_empty_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there are no prompts"):
        read_questions(write(tmp_path / "q.jsonl"))
