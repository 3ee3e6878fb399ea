"""Tasks: those of the package can be solved, those of a file are read or refused."""

import json
from collections import Counter
from pathlib import Path

import pytest

from headstart.bench.quality.asked import CODE, EXACT_MATCH
from headstart.bench.quality.tasks import read_tasks
from headstart.errors import DataError

SOLUTIONS = {
    "add": "def add(a, b):\n    return a + b",
    "is_even": "def is_even(n):\n    return n % 2 == 0",
    "largest": "largest = max\ndef largest(numbers): return max(numbers)",
    "backwards": "def backwards(text):\n    return text[::-1]",
    "factorial": "def factorial(n):\n    return 1 if n < 2 else n * factorial(n - 1)",
    "count_vowels": "def count_vowels(text):\n    return sum(c in 'aeiou' for c in text)",
    "average": "def average(numbers):\n    return sum(numbers) / len(numbers)",
    "squares": "def squares(n):\n    return [i * i for i in range(1, n + 1)]",
    "is_palindrome": "def is_palindrome(word):\n    return word == word[::-1]",
    "to_fahrenheit": "def to_fahrenheit(celsius):\n    return celsius * 9 / 5 + 32",
    "unique": "def unique(items):\n    return list(dict.fromkeys(items))",
    "second_word": "def second_word(sentence):\n    return sentence.split()[1]",
}


def test_the_bundled_tasks() -> None:
    tasks = read_tasks(None)
    assert Counter(task.kind for task in tasks) == {EXACT_MATCH: 40, CODE: 12}
    assert Counter(task.question.category for task in tasks) == {
        "arithmetic": 8, "facts": 8, "words": 8, "yes or no": 8, "reading": 8, "code": 12,
    }  # fmt: skip
    for task in tasks:
        if task.kind == EXACT_MATCH:
            assert all(task.right(reference) for reference in task.references)
            assert not task.right("I do not know.")
    assert Counter(task.references for task in tasks if task.match == "begins") == {("yes",): 4, ("no",): 4}


def test_the_functions_to_write_can_be_written() -> None:
    tasks = {task.function: task for task in read_tasks(None) if task.kind == CODE}
    assert set(tasks) == set(SOLUTIONS)
    for function, task in tasks.items():
        assert task.right(f"Here it is:\n```python\n{SOLUTIONS[function]}\n```"), function


def test_a_function_that_returns_nothing_is_wrong_whatever_is_asked() -> None:
    """All tests of all functions, in one program that counts how many raise."""
    tasks = [task for task in read_tasks(None) if task.kind == CODE]
    for task in tasks:
        for test in task.tests:
            with pytest.raises((AssertionError, TypeError)):
                exec(test, {task.function: lambda *_: None})


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_file(tmp_path: Path) -> None:
    file = write(
        tmp_path / "tasks.jsonl",
        {"prompt": "a", "reference": ["b", "c"]},
        {"question_id": "x", "category": "sums", "turns": ["1 + 1"], "match": "number", "reference": "2"},
        {"prompt": "f", "function": "f", "tests": ["assert f() == 1"]},
    )
    first, second, third = read_tasks(file)
    assert (first.question.key, first.match, first.references, first.kind) == ("1", "exact", ("b", "c"), EXACT_MATCH)
    assert (second.question.key, second.question.category, second.right("It is 2.")) == ("x", "sums", True)
    assert (third.kind, third.function, third.tests) == (CODE, "f", ("assert f() == 1",))
    assert third.right("```\ndef f(): return 1\n```")
    assert not third.right("def f(): return 2")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"prompt": "a"}, "neither reference nor tests"),
        ({"prompt": "a", "reference": []}, "reference is []"),
        ({"prompt": "a", "reference": 3}, "reference is 3"),
        ({"prompt": "a", "reference": "?!"}, "reference '?!' has no word to compare with"),
        ({"prompt": "a", "reference": "two", "match": "number"}, "reference 'two' has no number to compare with"),
        ({"prompt": "a", "reference": "b", "match": "near"}, "match is 'near'; expected one of exact, begins, contains, number"),
        ({"prompt": "a", "tests": ["assert f()"]}, "function is None"),
        ({"prompt": "a", "tests": "assert f()", "function": "f"}, "tests is 'assert f()'"),
        ({"turns": ["a", "b"], "reference": "c"}, "2 turns; expected one"),
        ({"reference": "c"}, "keys ['reference']"),
    ],
)
def test_malformed_rows(row: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError) as error:
        read_tasks(write(tmp_path / "tasks.jsonl", row))
    assert message in str(error.value)
    assert "tasks.jsonl:1" in str(error.value)


def test_a_key_that_is_there_twice(tmp_path: Path) -> None:
    row = {"question_id": 1, "prompt": "a", "reference": "b"}
    with pytest.raises(DataError, match="question_id 1 is there 2 times"):
        read_tasks(write(tmp_path / "tasks.jsonl", row, row))
