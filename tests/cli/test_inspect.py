"""``headstart inspect``."""

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from headstart.cli.main import main
from headstart.models.bitwise_probe import fitting_span
from headstart.tuning import bandwidth


@pytest.fixture
def beside(heads_path: str, tiny_model: str, tmp_path: Path) -> str:
    """A model that has heads beside it."""
    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)
    shutil.copytree(heads_path, model / "headstart")
    return str(model)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less memory to read: the figures are of no interest, only that they are there."""
    monkeypatch.setattr(bandwidth, "_LEAST", 1 << 20)


def read(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_heads_as_json(heads_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", heads_path, "--json"]) == 0
    record = read(capsys)
    assert (record["target"], record["model"], record["speed"]) == (heads_path, None, None)
    heads = record["heads"]
    assert heads["config"]["num_heads"] == 2
    assert heads["parameters"] == 2 * (32 * 32 + 32)  # two heads, one block each: a matrix and a bias
    assert heads["tree"] == {"nodes": 4, "depth": 2, "width": 2, "recommended_nodes": 3, "paths": [[0], [0, 0], [1]]}
    # the next root, and a token for each node on the true path: 1 + .5, then + .2, then + .1
    assert heads["tokens_per_step"] == pytest.approx({"2": 1.5, "3": 1.7, "4": 1.8})
    assert heads["predicted"] == {"head 1 top-1": 0.5}


def test_heads_as_a_page(heads_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", heads_path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "base model  tiny" in lines
    assert "tree        4 nodes, 2 deep, 2 wide; 3 recommended" in lines
    assert "    3 nodes  1.70" in lines
    assert lines[-4:] == ["root", "|-- 1", "|   `-- 1", "`-- 2"]


def test_a_model(tiny_model: str, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)  # that there are no heads is said elsewhere
    assert main(["inspect", tiny_model, "--dtype", "float32", "--json"]) == 0
    record = read(capsys)
    assert (record["heads"], record["speed"]) == (None, None)
    model = record["model"]
    assert (model["implementation"], model["dtype"], model["device"]) == ("native", "float32", "cpu")
    assert (model["vocab_size"], model["hidden_size"], model["context_length"]) == (260, 32, 256)
    assert model["threads"] == torch.get_num_threads()
    # two layers, keys and values, two heads of eight numbers of four bytes
    assert model["cache_bytes_per_position"] == 2 * 2 * 2 * 8 * 4
    # attention (32 + 16 + 16 + 32 rows) and MLP (3 x 64) of 32 columns, two norms; the last norm and the LM head
    weights = 4 * (2 * (32 * 96 + 32 * 192 + 64) + 32 + 260 * 32)
    assert 0 < model["weight_bytes_per_pass"] - weights < 1024  # besides, rows of the embedding and of the rotary tables
    assert model["bit_check"]["rows"] == 72  # three prompts, alone and together, twelve tokens each
    assert model["bitwise"] is False  # equal bits are for bfloat16


def test_a_model_with_heads_as_a_page(beside: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", beside, "--dtype", "float32"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"model       {beside}"
    assert lines[1].startswith("decoder     native, float32, cpu")
    assert next(line for line in lines if line.startswith("equal bits")).startswith("equal bits  not asked for")
    assert "tree        4 nodes, 2 deep, 2 wide; 3 recommended" in lines


def test_speed(beside: str, quick: None, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", beside, "--dtype", "float32", "--speed", "--json"]) == 0
    speed = json.loads(capfd.readouterr().out)["speed"]
    assert speed["context"] == 100
    assert speed["floor_seconds"] == pytest.approx(speed["bytes_per_pass"] / speed["bandwidth"]["median"])
    assert [point["nodes"] for point in speed["curve"]] == [1, 2, 4, 8, 16, 32, 64]
    assert speed["over_t1"]["1"] == 1.0
    assert speed["over_floor"]["1"] == pytest.approx(speed["curve"][0]["median"] / speed["floor_seconds"])
    assert [(step["drafter"], step["nodes"]) for step in speed["steps"]] == [("none", 1), ("combined", 3)]
    for step in speed["steps"]:
        assert step["seconds"] == pytest.approx(sum(step["phases"].values()))
        assert sum(step["verify_shares"].values()) == pytest.approx(1.0)


def test_speed_as_a_page(beside: str, quick: None, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", beside, "--dtype", "float32", "--speed", "--heads", "none"]) == 0
    out, err = capfd.readouterr()
    assert "the floor of a plain step" in out
    assert "T(n), a pass over n nodes at 100 positions of context, medians:" in out
    assert "a decode step, plain decoding: mean of 63 steps, 1.00 tokens per step" in out
    assert "products with weights" in out
    assert "drafter medusa" not in out  # there are no heads; what drafts is the text itself
    assert "USDT" not in err


def test_speed_of_heads_needs_their_model(heads_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    # these name "tiny", which is nowhere to be found
    assert main(["inspect", heads_path, "--speed"]) == 2
    assert "'tiny'" in capsys.readouterr().err


def test_heads_given_by_name(heads_path: str, tiny_model: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", tiny_model, "--heads", heads_path, "--dtype", "float32", "--json"]) == 0
    record = read(capsys)
    assert record["heads"]["config"]["base_model"] == "tiny"
    assert record["model"]["model"] == tiny_model


def test_a_broken_directory(heads_path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(heads_path, broken)
    weights = broken / "heads.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    assert main(["inspect", str(broken)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "heads.safetensors is broken" in error
    weights.unlink()
    assert main(["inspect", str(broken)]) == 2
    assert "has no heads.safetensors, so it is no heads directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["/no/such/place"], "'/no/such/place' is neither heads nor a model: there is no heads directory"),
        (["{tmp}"], "has no config.json"),
        (["{tmp}", "--threads", "0"], "threads is 0"),
    ],
)
def test_mistakes(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", *(argument.format(tmp=tmp_path) for argument in arguments)]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("error: ")
    assert message in captured.err
    assert captured.out == ""


@pytest.mark.bundled
def test_the_bundled_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "--dtype", "bfloat16", "--json"]) == 0
    record = read(capsys)
    # SmolLM2-135M has 134,515,008 parameters of two bytes, its LM head being its embedding; the norms are kept in float32
    assert 0 < record["model"]["weight_bytes_per_pass"] - 2 * 134_515_008 < 200_000
    assert record["model"]["cache_bytes_per_position"] == 30 * 2 * 3 * 64 * 2
    assert record["model"]["bitwise"] is True
    assert record["model"]["bit_check"]["holds"] or fitting_span() is None
    assert record["heads"]["config"]["vocab_size"] == record["model"]["vocab_size"]
