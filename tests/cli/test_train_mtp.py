"""``headstart train-mtp``."""

import json
from pathlib import Path

import pytest

from headstart.cli.main import main

SMALL = ["--tokens", "2048", "--held-out", "1100", "--vocab-size", "512", "--layers", "2", "--hidden-size", "16", "--length", "64"]


def test_trains_a_model_that_drafts_for_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = tmp_path / "text.txt"
    text.write_text("".join(f"{i % 5} and {i % 3} are numbers\n" for i in range(1500)))
    output = str(tmp_path / "model")
    arguments = ["train-mtp", "--output", output, "--text", str(text), "--heads", "2", *SMALL]
    weights = ["--head-weights", "1", "--head-weights", "0.5"]
    assert main([*arguments, *weights, "--schedule", "grow", "--device", "cpu", "--quiet", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["directory"] == output
    assert len(record["held_out"]["nats_N"]) == 2
    assert [found["same"] == found["texts"] for found in record["measured"]] == [True, True]

    assert main(["inspect", f"{output}/headstart"]) == 0
    shown = capsys.readouterr().out
    assert "1 of a transformer layer (4 attention heads) on the trunk" in shown
    assert main(["generate", output, "1 and", "--max-new-tokens", "8", "--json"]) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["stats"]["proposed_tokens"] > 0

    assert main(arguments) == 2
    assert "there is a run in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--heads", "0"], "error: heads is 0"),
        (["--schedule", "sometimes"], "error: Invalid value"),
        (["--text", "/no/such/file.txt"], "error: there is no file or directory /no/such/file.txt"),
        (["--model", "/no/such/model"], "error: "),
    ],
)
def test_mistakes_exit_with_2(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train-mtp", "--output", str(tmp_path / "model"), "--quiet", *arguments]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(message)
