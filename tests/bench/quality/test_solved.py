"""Tasks that the model which writes the alphabet solves."""

import json
from pathlib import Path

import pytest

from headstart.bench.quality.solved import solved
from headstart.bench.quality.tasks import ANSWER_TOKENS, read_tasks
from headstart.llm import LLM
from tests.tiny_llm import tiny_llm
from tests.tiny_models import alphabet_heads, alphabet_model, letters_tokenizer, native

ROWS = (
    {"question_id": "right", "prompt": "v", "match": "begins", "reference": "wxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    {"question_id": "wrong", "prompt": "c", "reference": "c"},
    {"question_id": "code", "prompt": "f", "function": "f", "tests": ["assert f() == 1"]},
)


def test_marks_by_kind_and_question(tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    tasks = read_tasks(tmp_path / "tasks.jsonl")
    wide = native(alphabet_model(context=2 * ANSWER_TOKENS["code"]))
    both = {"exact-match": {"right": True, "wrong": False}, "code": {"code": False}}
    assert solved(LLM(wide, letters_tokenizer(), heads=alphabet_heads(wide)), tasks) == both
    narrow = native(alphabet_model(context=ANSWER_TOKENS["code"]))  # a prompt and an answer do not fit
    assert solved(LLM(narrow, letters_tokenizer()), tasks) == {"exact-match": both["exact-match"]}
    assert solved(tiny_llm(tokenizer=False), tasks) == {}


def test_no_code_where_it_cannot_be_limited(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    wide = native(alphabet_model(context=2 * ANSWER_TOKENS["code"]))
    monkeypatch.setattr("sys.platform", "win32")
    found = solved(LLM(wide, letters_tokenizer()), read_tasks(tmp_path / "tasks.jsonl"))
    assert found == {"exact-match": {"right": True, "wrong": False}}
