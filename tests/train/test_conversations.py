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
    )
    rows = read_conversations([path, path])
    assert len(rows) == 8
    assert rows[0].messages == [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]
    assert rows[1].messages == [{"role": "user", "content": "p"}, {"role": "assistant", "content": "r"}]
    assert rows[2].messages == [{"role": "user", "content": "only"}]
    assert (rows[3].text, rows[3].origin) == ("plain\u2028text", f"{path}:5")


def test_a_line_separator_inside_a_string_is_no_new_line(tmp_path: Path) -> None:
    assert read_conversations([written(tmp_path, '{"text": "a\u2028b"}')])[0].text == "a\u2028b"


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"text": "a"', "not JSON"),
        ("[1]", "a JSON list"),
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


def test_missing_and_empty_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read_conversations([tmp_path / "none.jsonl"])
    with pytest.raises(DataError, match="no training data"):
        read_conversations([written(tmp_path, "")])
