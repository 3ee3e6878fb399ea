"""``headstart inspect``."""

import json
import shutil
from pathlib import Path

import pytest

from headstart.cli.main import main


def test_json(heads_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", heads_path, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["config"]["num_heads"] == 2
    assert record["parameters"] == 2 * (32 * 32 + 32)  # two heads, one block each: a matrix and a bias
    assert record["tree"] == {"nodes": 4, "depth": 2, "width": 2, "recommended_nodes": 3, "paths": [[0], [0, 0], [1]]}
    # the next root, and a token for each node on the true path: 1 + .5, then + .2, then + .1
    assert record["tokens_per_step"] == pytest.approx({"2": 1.5, "3": 1.7, "4": 1.8})
    assert record["predicted"] == {"head 1 top-1": 0.5}


def test_page(heads_path: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", heads_path]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "base model  tiny" in lines
    assert "tree        4 nodes, 2 deep, 2 wide; 3 recommended" in lines
    assert "    3 nodes  1.70" in lines
    assert lines[-4:] == ["root", "|-- 1", "|   `-- 1", "`-- 2"]


def test_heads_beside_a_model(heads_path: str, tiny_model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model"
    shutil.copytree(tiny_model, model)
    assert main(["inspect", str(model)]) == 2
    assert "there are no heads beside" in capsys.readouterr().err
    shutil.copytree(heads_path, model / "headstart")
    assert main(["inspect", str(model), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["config"]["base_model"] == "tiny"


def test_a_broken_directory(heads_path: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(heads_path, broken)
    weights = broken / "heads.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    assert main(["inspect", str(broken)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert "heads.safetensors is broken" in error


def test_nothing_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "/no/such/heads"]) == 2
    assert capsys.readouterr().err.startswith("error: there is no heads directory")
