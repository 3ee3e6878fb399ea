"""Steps are told apart by colours on a terminal and by dots elsewhere."""

import io

import pytest

from headstart.cli.step_marks import StepMarks


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def written(stream: io.StringIO) -> str:
    marks = StepMarks(stream)
    for text in ["To", " reset your", " pass"]:
        marks.write(text)
    return stream.getvalue()


def test_colours_alternate_on_a_terminal() -> None:
    assert written(Terminal()) == "\x1b[36mTo\x1b[0m\x1b[33m reset your\x1b[0m\x1b[36m pass\x1b[0m"


def test_dots_in_a_file() -> None:
    assert written(io.StringIO()) == "To· reset your· pass"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_terminals_that_want_no_colours(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    assert written(Terminal()) == "To· reset your· pass"


def test_an_empty_no_color_means_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # no-color.org: "when present and not an empty string"
    monkeypatch.setenv("NO_COLOR", "")
    assert StepMarks(Terminal()).coloured


def test_a_step_without_text_still_counts() -> None:
    # the step in the middle held half a character back: the next one is the third, so it has the first one's colour
    stream = Terminal()
    marks = StepMarks(stream)
    for text in ["a", "", "é"]:
        marks.write(text)
    assert stream.getvalue() == "\x1b[36ma\x1b[0m\x1b[36mé\x1b[0m"
