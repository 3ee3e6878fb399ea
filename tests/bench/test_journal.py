"""What a killed run leaves."""

from pathlib import Path

import pytest

from headstart.bench.journal import JOURNAL, Entry, Journal
from headstart.errors import DataError
from tests.bench.made_up import run

ENTRY = Entry(unit="t0 b1 0.0", prompts=["a"], runs={"plain": run([1, 2, 3], 2.0)}, margins={"medusa": [0.25, None]})
SKIPPED = Entry(unit="t0 b1 1.0", skipped="too long")


def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "new", {"seed": 0})
    journal.add(ENTRY)
    journal.add(SKIPPED)
    assert Journal(tmp_path / "new", {"seed": 0}).entries == {ENTRY.unit: ENTRY, SKIPPED.unit: SKIPPED}


def test_a_line_that_was_cut_off_is_forgotten(tmp_path: Path) -> None:
    Journal(tmp_path, {}).add(ENTRY)
    file = tmp_path / JOURNAL
    whole = file.read_bytes()
    file.write_bytes(whole + b'{"unit": "t0 b1 1.0", "ru')
    again = Journal(tmp_path, {})
    assert list(again.entries) == [ENTRY.unit]
    again.add(SKIPPED)
    assert list(Journal(tmp_path, {}).entries) == [ENTRY.unit, SKIPPED.unit]


def test_a_header_that_was_cut_off(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text('{"form')
    Journal(tmp_path, {"seed": 1}).add(ENTRY)
    assert list(Journal(tmp_path, {"seed": 1}).entries) == [ENTRY.unit]


def test_another_run(tmp_path: Path) -> None:
    Journal(tmp_path, {"seed": 0, "threads": 2}).add(ENTRY)
    with pytest.raises(DataError, match="holds another run: threads is 1, was 2") as error:
        Journal(tmp_path, {"seed": 0, "threads": 1})
    assert "Give another --output" in str(error.value)


def test_other_sources(tmp_path: Path) -> None:
    """They may read what is there, but add nothing."""
    Journal(tmp_path, {}, "old").require_same_code()
    Journal(tmp_path, {}, "new")  # nothing was measured yet
    Journal(tmp_path, {}, "old").add(ENTRY)
    Journal(tmp_path, {}, "old").require_same_code()
    again = Journal(tmp_path, {}, "new")
    assert list(again.entries) == [ENTRY.unit]
    with pytest.raises(DataError, match="by other sources of Headstart"):
        again.require_same_code()


@pytest.mark.parametrize("line", ["no json", '{"unit": "x"}', '{"unit": "x", "runs": {"plain": {}}}', "[]"])
def test_a_broken_journal(line: str, tmp_path: Path) -> None:
    Journal(tmp_path, {}).add(ENTRY)
    with (tmp_path / JOURNAL).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(DataError, match="is broken"):
        Journal(tmp_path, {})


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    Journal(tmp_path, {}).add(ENTRY)
    with (tmp_path / JOURNAL).open("ab") as file:
        file.write(b"\xff\xfe\n")
    with pytest.raises(DataError, match="is broken"):
        Journal(tmp_path, {})


def test_a_disk_that_refuses(tmp_path: Path) -> None:
    journal = Journal(tmp_path, {})
    (tmp_path / JOURNAL).unlink()
    (tmp_path / JOURNAL).mkdir()
    with pytest.raises(DataError, match="run the same command again"):
        journal.add(ENTRY)


def test_a_place_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="give another --output"):
        Journal(tmp_path / "file" / "out", {})
