"""``headstart train``."""

import json
from pathlib import Path

import pytest

from headstart.cli.main import main
from headstart.drafters.heads_directory import HeadsDirectory

SMALL = ["--tokens", "200", "--max-new-tokens", "8", "--batch", "64", "--epochs", "1", "--num-heads", "2", "--dtype", "float32"]


def test_trains_heads_that_can_be_used(tiny_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "questions.jsonl"
    data.write_text("".join(json.dumps({"text": f"Question {i}: what is {i} plus {i}?"}) + "\n" for i in range(40)))
    output = tmp_path / "heads"
    arguments = ["train", tiny_model, "--output", str(output), "--data", str(data), "--quiet", "--json", *SMALL]
    assert main([*arguments, "--no-condition-on-root"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["directory"] == str(output)
    assert record["tokens"] >= 200
    heads = HeadsDirectory.from_pretrained(output)
    assert (heads.config.num_heads, heads.config.condition_on_root) == (2, False)
    assert main(["inspect", str(output)]) == 0
    capsys.readouterr()

    assert main(["demo", "--model", tiny_model, "--heads", str(output), "--dtype", "float32", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["heads"]["stats"]["proposed_tokens"] > 0

    assert main(arguments) == 2  # the finished run is not overwritten
    assert "there is a run in" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--minutes", "5", "--tokens", "1000"], "error: both minutes and tokens were given"),
        (["--lr", "0"], "error: lr is 0.0"),
        (["--keep-answers"], "error: keep_answers was given without data"),
        (["--data", "/no/such/file.jsonl"], "error: "),
        (["--resume"], "error: "),
        (["--endpoint", "http://host/v1"], "error: endpoint and endpoint_model go together"),
        (["--endpoint", "http://host/v1", "--endpoint-model", "m"], "error: endpoint was given without data"),
        (["--max-bad-rows", "-1"], "error: max_bad_rows is -1"),
        (["--decontaminate", "/no/such/prompts.jsonl"], "error: the prompts in /no/such/prompts.jsonl cannot be read"),
        (["--data", "hub:"], "error: 'hub:' names no data set"),
    ],
)
def test_mistakes_exit_with_2(
    arguments: list[str], message: str, tiny_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", tiny_model, "--output", str(tmp_path / "heads"), *arguments]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(message)


def test_an_output_that_cannot_be_written_is_refused_before_loading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["train", "no-such-model", "--output", str(tmp_path / "file" / "heads")]) == 2
    assert "choose an output directory that can be written to" in capsys.readouterr().err
