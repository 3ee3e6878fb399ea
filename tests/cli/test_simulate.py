"""The simulate command: the source documents' worked numbers from its output, and its mistakes."""

import json
import re
from typing import Any

import pytest

from headstart.cli.main import main

LESSON = ["--head", "0.60,0.75,0.85", "--head", "0.40,0.55,0.65", "--head", "0.25,0.36,0.45"]


def simulate(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, dict[str, Any]]:
    """The lines by name."""
    assert main(["simulate", "--json", *arguments]) == 0
    return {line["name"]: line for line in json.loads(capsys.readouterr().out)["lines"]}


def test_the_lessons_trees(capsys: pytest.CaptureFixture[str]) -> None:
    """Three widths at 0.02 a node with the lesson's seed: its 1.90/2.30/2.66 tokens and 1.80x/1.80x/1.49x."""
    lines = simulate(capsys, *LESSON, "--node-cost", "0.02", "--steps", "20000", "--extra-head", "0.1")
    trees = [lines[name] for name in ("chain", "full, 2 wide", "full, 3 wide")]
    assert [line["nodes"] for line in trees] == [4, 15, 40]  # 3, 14 and 39 with the root
    assert [round(line["drawn"], 2) for line in trees] == [1.90, 2.30, 2.66]
    assert [round(line["drawn_speedup"], 2) for line in trees] == [1.80, 1.80, 1.49]
    assert trees[0]["gain"] == pytest.approx(0.006)  # of the lesson's fourth head
    assert lines["plain"]["speedup"] == 1.0
    # paths are worth .6 .24 .15 .1 .09 .06 .06 .06 ...: 8 of them make 2.36 / 1.16, and one more is worth less than 0.02 * 2.03
    assert (lines["fastest"]["nodes"], round(lines["fastest"]["speedup"], 2)) == (9, 2.03)


def test_seconds_and_costs(capsys: pytest.CaptureFixture[str]) -> None:
    """The article: 150 tokens at 50 tokens/s take 3 s, and 1.5 s at 2x; L = 3 with 3 ms on 20 is 2.61x."""
    lines = simulate(capsys, "--head", "0.8", "--tokens", "150", "--pass-ms", "20", "--tokens-per-step", "2", "--price", "4")
    assert lines["plain"]["seconds"] == pytest.approx(3)
    assert lines["given"]["seconds"] == pytest.approx(1.5)
    assert lines["given"]["per_million"] == pytest.approx(lines["plain"]["per_million"] / 2)
    lines = simulate(capsys, "--head", "0.8", "--pass-ms", "20", "--overhead-ms", "3", "--tokens-per-step", "3")
    assert lines["given"]["speedup"] == pytest.approx(2.61, abs=0.002)
    lines = simulate(capsys, "--head", "0.8", "--tokens-per-step", "1.6666667", "--price", "4", "--hours", "1000")
    assert lines["given"]["saved"] == pytest.approx(1600, abs=0.01)
    lines = simulate(capsys, "--head", "0.8", "--tokens-per-step", "2.5")
    assert (lines["given"]["passes"], lines["given"]["speedup"]) == (40, 2.5)


def test_heads_that_were_counted(heads_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    """50, 20 and 10 of 100 positions: a chain of both heads gives 1.7, all three nodes 1.8."""
    lines = simulate(capsys, "--heads", heads_path, "--nodes", "4")
    assert lines["chain"]["tokens_per_step"] == pytest.approx(1.7)
    assert lines["best of 4"]["tokens_per_step"] == pytest.approx(1.8)


def test_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    """Columns that nobody asked for are left out."""
    assert main(["simulate", *LESSON, "--node-cost", "0.1", "--nodes", "4", "--price", "4", "--hours", "1000"]) == 0
    shown = capsys.readouterr().out
    assert "drawn" not in shown
    assert "tokens/s " not in shown
    assert re.search(r"fastest +3 +\d +1\.\d\d", shown)
    assert "a step costs 1 + 0.1 for each node beside the root, in plain passes" in shown
    assert "plain decoding: 1,000 hours, 4,000" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--head", "much"], "head is 'much'; expected numbers"),
        (["--head", "0.5", "--nodes", "0"], "nodes is '0'; expected numbers from 1"),
        (["--head", "0.5", "--widths", "wide"], "widths is 'wide'; expected whole numbers"),
        (["--head", "0.5", "--overhead-ms", "3"], "overhead-ms needs pass-ms"),
        (["--head", "0.5", "--hours", "3"], "hours need a price"),
        (["--head", "0.5", "--pass-ms", "0"], "pass-ms is 0.0; expected milliseconds above 0"),
        (["--head", "0.5", "--pass-ms", "inf"], "pass-ms is inf; expected milliseconds above 0"),
        (["--head", "0.5", "--tokens-per-step", "nan"], "tokens-per-step is nan; expected at least 1"),
        (["--head", "0.5", "--tokens-per-step", "0.5"], "expected at least 1, which is plain decoding"),
        (["--head", "0.5", "--tokens", "0"], "0 tokens and 0 steps; expected"),
        (["--head", "0.5", "--node-cost", "-1"], "costs of -1.0 a node"),
        (["--head", "0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8,0.9", *["--head", "0.5"] * 9, "--widths", "9"], "too large; expected at most"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", *arguments]) == 2
    assert message in capsys.readouterr().err
