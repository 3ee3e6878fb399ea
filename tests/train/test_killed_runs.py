"""Runs that are killed at random moments, by a signal that no process can answer, end with the very same heads."""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.cli.conftest import save_tiny_model

OPTIONS = ["--tokens", "3000", "--max-new-tokens", "16", "--max-rows", "8", "--num-heads", "2", "--draft-vocab-size", "128"]
OPTIONS += ["--batch", "32", "--epochs", "3", "--patience", "100", "--dtype", "float32", "--device", "cpu", "--quiet"]
FILES = ("heads.safetensors", "tree.json")


def start(model: Path, output: Path) -> "subprocess.Popen[bytes]":
    """A run, or what is left of one that was killed."""
    resume = ["--resume"] if (output / "run" / "run.json").exists() else []
    command = [sys.executable, "-m", "headstart", "train", str(model), "--output", str(output), *OPTIONS, *resume]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"}, stdout=subprocess.DEVNULL)


def killed(process: "subprocess.Popen[bytes]", seconds: float) -> bool:
    """Whether the run was still going after so many seconds; it is not any more."""
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    assert process.returncode == 0
    return False


def assert_same(one: Path, other: Path) -> None:
    """Bit for bit; only the card says how long a run took."""
    expected, got = load_file(one / FILES[0]), load_file(other / FILES[0])
    assert expected.keys() == got.keys()
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    assert (one / FILES[1]).read_bytes() == (other / FILES[1]).read_bytes()
    logs = [(path / "run" / "log.jsonl").read_text() for path in (one, other)]
    assert logs[0] == logs[1]
    assert all(json.loads(line) for line in logs[0].splitlines())


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.slow)])
def test_kills_change_nothing(tmp_path: Path, kills: int) -> None:
    """A run that gets through between two kills is compared and another one begun."""
    model = tmp_path / "model"
    model.mkdir()
    save_tiny_model(model)
    begun = time.monotonic()
    assert start(model, tmp_path / "undisturbed").wait() == 0
    whole = time.monotonic() - begun
    moments = random.Random(0)
    done = runs = 0
    while done < kills:
        output = tmp_path / f"run-{runs}"
        fresh, begun = not output.exists(), time.monotonic()
        if killed(start(model, output), moments.uniform(0.2, 1.0) * whole):
            done += 1
        else:
            assert_same(tmp_path / "undisturbed", output)
            runs += 1
            if fresh:  # the machine was busier with the first one
                whole = min(whole, time.monotonic() - begun)
    output = tmp_path / f"run-{runs}"
    assert start(model, output).wait() == 0
    assert_same(tmp_path / "undisturbed", output)
