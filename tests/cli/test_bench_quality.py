"""The quality part of the bench command, on a tiny model."""

import json
from pathlib import Path

import pytest

from headstart.bench.quality.survey import QUALITY
from headstart.cli.main import main


def test_a_lossy_rule(tiny_model: str, heads_path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule with a high threshold: at temperature 1 it keeps only what the model is sure of."""
    prompts, tasks, output = tmp_path / "prompts.jsonl", tmp_path / "tasks.jsonl", tmp_path / "out"
    prompts.write_text("".join(json.dumps({"prompt": f"Say {i}"}) + "\n" for i in range(3)))
    rows = [{"prompt": "1 + 1", "match": "number", "reference": "2"}, {"prompt": "f", "function": "f", "tests": ["assert f()"]}]
    tasks.write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ["bench", tiny_model, "--heads", heads_path, "--prompts", str(prompts), "--output", str(output), "--against", "none"]
    given += ["--dtype", "float32", "--max-new-tokens", "8", "--drafter", "medusa+typical", "--temperature", "0,1"]
    given += ["--tasks", str(tasks), "--base", tiny_model]
    assert main([*given, "--json"]) == 0
    captured = capsys.readouterr()
    quality = json.loads(captured.out)["quality"]
    assert (quality["base"], quality["base_model"]) == ("base", tiny_model)
    greedy, drawn = quality["answers"]
    assert list(greedy["contestants"]) == list(drawn["contestants"]) == ["base", "medusa+typical", "plain"]
    # without temperature the rule is exact, and the base is the same model
    assert greedy["contestants"]["medusa+typical"]["agreement"]["identical"]["estimate"] == 1.0
    assert greedy["contestants"]["medusa+typical"]["perplexity"]["of_base"]["estimate"] == 1.0
    assert drawn["contestants"]["plain"]["agreement"]["identical"]["estimate"] == 1.0
    assert [list(row["contestants"]["medusa+typical"]) for row in quality["tasks"]] == [["exact-match", "code"]] * 2
    assert quality["tasks"][0]["left_out"] == {"exact-match": 0, "code": 0}
    assert (output / QUALITY).is_file()

    # what people read
    assert main(given) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Quality at temperature 1: the perplexity of its answers under the base model is" in said
    assert "What the base model thinks of the answers, batch 1, temperature 0" in said
    assert "Tasks, batch 1, temperature 1" in said
    report = (output / "report.html").read_text()
    assert "Tasks, batch 1, temperature 1" in report


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--quality", "speed"], "expected some of perplexity, agreement, exact-match, code"),
        (["--quality", "code", "--tasks", "/no/such/file"], "cannot be read"),
        (["--base", "/no/such/model"], "/no/such/model"),
    ],
)
def test_mistakes(arguments: list[str], message: str, tiny_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["bench", tiny_model, "--output", str(tmp_path / "out"), "--against", "none", "--dtype", "float32", "--limit", "2"]
    assert main([*given, *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
