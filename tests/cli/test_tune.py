"""The tune command, on a tiny model and few prompts."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import headstart
from headstart.cli import tune
from headstart.cli.main import main
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.tuning import observe as observing

QUICK = ["--quick", "--dtype", "float32", "--batch", "1,2", "--max-nodes", "4", "--tokens", "24"]


@pytest.fixture
def prompts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(observing, "LEAST_POSITIONS", 20)
    file = tmp_path / "prompts.jsonl"
    file.write_text("".join(json.dumps({"turns": [f"Say {i}"]}) + "\n" for i in range(8)))
    return str(file)


@pytest.fixture
def beside(tiny_model: str, heads_path: str, tmp_path: Path) -> str:
    """A model with heads in its ``headstart`` folder."""
    directory = tmp_path / "model"
    shutil.copytree(tiny_model, directory)
    shutil.copytree(heads_path, directory / "headstart")
    return str(directory)


def record(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]


def test_in_place(beside: str, prompts: str, capsys: pytest.CaptureFixture[str]) -> None:
    place = Path(beside) / "headstart"
    weights = (place / "heads.safetensors").read_bytes()
    assert main(["tune", beside, "--prompts", prompts, "--json", *QUICK]) == 0
    found = record(capsys)
    assert found["directory"] == str(place)
    assert (found["nodes"], found["rows"]) == ([1, 2, 4], [1, 2])
    chosen = found["chosen"]["medusa"][0][1]
    assert found["recommended_nodes"] == (chosen if chosen > 1 else 3)  # what the heads say where plain decoding is fastest here
    assert list(found["speedup"]) == ["1", "2"]
    assert found["observed"]["prompts"] == "prompts.jsonl"
    assert found["tokens"]["medusa"][0] == 1.0
    again = HeadsDirectory.from_pretrained(place)
    tuned = again.tree_file.tuned
    assert tuned is not None
    assert tuned.chosen("medusa") == dict(found["chosen"]["medusa"])
    assert again.predicted["head 1 top-1"] == 0.5  # what was there is kept
    assert (place / "heads.safetensors").read_bytes() == weights
    for picture in (tune.PLOT, tune.PICTURE):
        assert (place / picture).read_bytes().startswith(b"\x89PNG")
    # and a model loaded as it was tuned takes it up; the text is that of plain decoding
    llm = headstart.load(beside, dtype="float32")
    assert set(llm._engine.budgets) == {"combined", "medusa", "medusa-static", "ngram"}
    assert llm.generate("Say 1", max_new_tokens=20).token_ids == llm.generate("Say 1", max_new_tokens=20, drafter="none").token_ids


def test_a_copy(tiny_model: str, heads_path: str, prompts: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = (Path(heads_path) / "tree.json").read_bytes()
    output = tmp_path / "tuned"
    assert main(["tune", tiny_model, "--heads", heads_path, "--prompts", prompts, "--output", str(output), *QUICK]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("learned from ")
    assert any(line.lstrip().startswith("nodes") and "tokens/step" in line for line in lines)
    assert any(line.startswith("  2 at once: ") for line in lines)
    assert "root" in lines
    assert lines[-1] == f"written to {output / 'tree.json'}, tuned.png and tree.png beside it"
    assert "observing the heads on 4 prompts" in err
    assert (Path(heads_path) / "tree.json").read_bytes() == before
    assert HeadsDirectory.from_pretrained(output).tree_file.tuned is not None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--max-nodes", "1"], "max_nodes is 1; expected at least 2"),
        (["--batch", "1,two"], "batch is '1,two'"),
        (["--batch", "0"], "expected numbers of texts"),
        (["--threads", "0"], "threads is 0"),
        (["--prompts", "/no/such/file"], "cannot be read"),
        (["--heads", "none"], "so there is no tree to tune"),
        (["--heads", "/no/such/heads"], "is no directory here"),
        (["--heads", "/no/such/heads", "--output", "{tmp}/out"], "no heads directory"),
        (["--output", "{tmp}/file/inside"], "cannot write to"),
    ],
)
def test_mistakes(arguments: list[str], message: str, beside: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["tune", beside, *(argument.format(tmp=tmp_path) for argument in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert message in captured.err
    assert captured.out == ""


def test_a_model_without_heads(tiny_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", tiny_model]) == 2
    assert "no heads for" in capsys.readouterr().err


def test_the_heads_are_those_that_loading_takes(
    tiny_model: str, heads_path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Heads that lie in the model's parent directory, or where the command runs, belong to nobody knows what."""
    shutil.copytree(heads_path, tmp_path / "around")
    shutil.copytree(tiny_model, tmp_path / "around" / "model")
    monkeypatch.chdir(tmp_path / "around")
    for name in (str(tmp_path / "around" / "model"), "model", "some-hub-id"):
        assert main(["tune", name]) == 2
        assert f"no heads for {name}" in capsys.readouterr().err


def test_a_tree_that_is_not_for_these_heads(beside: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Three deep, but there are two heads."""
    (Path(beside) / "headstart" / "tree.json").write_text('{"format": 1, "paths": [[0], [0, 0], [0, 0, 0]]}')
    assert main(["tune", beside]) == 2
    assert "the tree is 3 deep, but there are 2 heads" in capsys.readouterr().err
