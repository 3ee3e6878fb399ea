"""Which text is trained on."""

from pathlib import Path

import pytest

from headstart.errors import DataError
from headstart.train.mtp.corpus import documents


def test_the_standard_library_is_there_by_default() -> None:
    texts = documents(())
    assert len(texts) > 100
    assert any("class OrderedDict" in text for text in texts)
    assert documents(()) == texts  # the same order again


def test_files_and_directories(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name, text in {"b/two.md": "two\n", "a.txt": "one\n", "b/skipped.bin": "no", "b/empty.txt": " \n"}.items():
        (tmp_path / name).write_text(text)
    assert documents([tmp_path]) == ["one\n", "two\n"]
    assert documents([tmp_path / "b" / "skipped.bin"]) == ["no"]  # a file that is named is read, whatever its ending


def test_a_few_long_texts_are_cut_at_lines(tmp_path: Path) -> None:
    lines = [f"line {i} of a long text\n" for i in range(1000)]
    (tmp_path / "long.txt").write_text("".join(lines))
    pieces = documents([tmp_path])
    assert "".join(pieces) == "".join(lines)
    assert len(pieces) == 6  # 22,890 characters in pieces of a little over 4,000
    assert all(piece.endswith("\n") for piece in pieces)


def test_a_text_without_ends_of_lines_is_cut_behind_spaces(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("word " * 5000)
    pieces = documents([tmp_path / "one.txt"])
    assert "".join(pieces) == "word " * 5000
    assert {len(piece) for piece in pieces[:-1]} == {4000}
    (tmp_path / "one.txt").write_text("字" * 9000)
    assert [len(piece) for piece in documents([tmp_path / "one.txt"])] == [4000, 4000, 1000]


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="there is no file or directory"):
        documents([tmp_path / "nothing"])
    with pytest.raises(DataError, match=r"no text in .*; expected files with text in them, .* \.txt"):
        documents([tmp_path])
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match="is not UTF-8"):
        documents([tmp_path])
