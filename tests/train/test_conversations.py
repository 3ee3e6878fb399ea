import json
import sys
from pathlib import Path

import pytest

from headstart.errors import DataError
from headstart.train.conversations import read_conversations


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "data.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_reads_the_three_forms(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}], "id": 4}',
        '{"prompt": "p", "response": "r"}',
        "",
        '{"prompt": "only"}',
        '{"text": "plain\\u2028text"}',
        '{"messages": null, "prompt": null, "text": "as Parquet has it"}',
    )
    rows = read_conversations([path, path]).rows
    assert len(rows) == 10
    assert rows[0].messages == [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert rows[1].messages == [{"role": "user", "content": "p"}, {"role": "assistant", "content": "r"}]
    assert rows[2].messages == [{"role": "user", "content": "only"}]
    assert (rows[3].text, rows[3].origin) == ("plain\u2028text", f"{path}:5")
    assert (rows[4].text, rows[4].messages) == ("as Parquet has it", None)


def test_a_line_separator_inside_a_string_is_no_new_line(tmp_path: Path) -> None:
    assert read_conversations([written(tmp_path, '{"text": "a\u2028b"}')]).rows[0].text == "a\u2028b"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "a"', "not JSON"),
        ("[1]", "a JSON list"),
        ('{"text": "half \\ud800"}', "half a character at place 5"),
        ('{"conversations": [{"from": "tool", "value": "a"}]}', "message 0 is .*expected a role"),
        ('{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}', "content of message 0 is"),
        ('{"question": "a"}', r"keys \['question'\]"),
        ('{"text": ""}', 'text is ""; expected a string'),
        ('{"prompt": 3}', "prompt is 3"),
        ('{"prompt": "a", "response": ""}', "response is"),
        ('{"messages": []}', r"messages is \[\]"),
        ('{"messages": [{"role": "bot", "content": "a"}]}', "message 0 is .*expected a role out of system, user, assistant"),
        ('{"messages": [{"role": "user"}]}', "content of message 0 is null"),
        ('{"messages": [{"role": "assistant", "content": "a"}]}', "nothing to answer"),
    ],
)
def test_a_malformed_row_is_named_with_the_reason(tmp_path: Path, line: str, reason: str) -> None:
    path = written(tmp_path, '{"text": "fine"}', line)
    with pytest.raises(DataError, match=f"{path}:2: .*{reason}"):
        read_conversations([path])


def test_other_spellings_of_a_conversation(tmp_path: Path) -> None:
    """ShareGPT's names for the keys and the roles, and OpenAI's contents in parts."""
    expected = [{"role": "system", "content": "s"}, {"role": "user", "content": "u v"}, {"role": "assistant", "content": "a"}]
    shared = [{"from": "system", "value": "s"}, {"from": "human", "value": "u v"}, {"from": "gpt", "value": "a"}]
    parts = [{"type": "text", "text": "u "}, {"type": "text", "text": "v"}]
    path = written(
        tmp_path,
        json.dumps({"id": "x", "conversations": shared}),
        json.dumps({"messages": [expected[0], {"role": "user", "content": parts}, expected[2]]}),
        json.dumps({"conversations": expected}),
    )
    assert [row.messages for row in read_conversations([path]).rows] == [expected] * 3


def test_bad_rows_are_left_out_up_to_a_limit(tmp_path: Path) -> None:
    path = written(tmp_path, '{"text": "a"}', "{", '{"text": "b"}', '{"text": 3}')
    reading = read_conversations([path], max_bad_rows=2)
    assert [row.text for row in reading.rows] == ["a", "b"]
    assert [row.reason for row in reading.lost] == ["malformed", "malformed"]
    assert reading.read == 4
    with pytest.raises(DataError, match=rf"(?s)more than 1 bad rows.*{path}:2: not JSON.*{path}:4: text is 3.*--max-bad-rows"):
        read_conversations([path], max_bad_rows=1)


def test_nothing_but_bad_rows(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"(?s)no training data.*:1: not JSON"):
        read_conversations([written(tmp_path, "{")], max_bad_rows=9)


def test_parquet_has_the_same_rows(tmp_path: Path) -> None:
    """Nested lists of messages; a row without them in the same file; a damaged file."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    talk = [{"role": "user", "content": "u"}, {"role": "assistant", "content": "a"}]
    rows = [{"messages": talk, "text": None}, {"messages": None, "text": "plain"}, {"messages": None, "text": ""}]
    path = tmp_path / "data.parquet"
    parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    reading = read_conversations([path], max_bad_rows=1)
    assert [(row.messages, row.text) for row in reading.rows] == [(talk, None), (None, "plain")]
    assert reading.lost[0].detail.startswith(f"{path}: row 3: text is")
    path.write_bytes(b"PAR1 no more")
    with pytest.raises(DataError, match="expected a Parquet file"):
        read_conversations([path])


@pytest.mark.parametrize(("module", "source"), [("pyarrow.lib", "data.parquet"), ("datasets", "hub:some/data")])
def test_a_missing_package_is_named(module: str, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # what an import finds where a package is not installed
    with pytest.raises(DataError, match=r"not installed; pip install 'headstart\[data\]'"):
        read_conversations([Path(source)])


def test_a_data_set_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "test.jsonl").write_text('{"prompt": "one"}\n{"prompt": "two"}\n', encoding="utf-8")
    rows = read_conversations([Path(f"hub:{tmp_path / 'set'}:test[1:]")]).rows
    assert [row.messages for row in rows] == [[{"role": "user", "content": "two"}]]
    with pytest.raises(DataError, match="cannot be loaded"):
        read_conversations([Path(f"hub:{tmp_path / 'set'}:train")])
    with pytest.raises(DataError, match="names no data set"):
        read_conversations([Path("hub::train")])


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_conversations([tmp_path / "none.jsonl"])
    with pytest.raises(DataError, match="no training data"):
        read_conversations([written(tmp_path, "")])
