"""Two processes on a CPU train the heads that one would have trained."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

from tests.tiny_models import letters_tokenizer

pytestmark = pytest.mark.slow


def trained(model: Path, output: Path, data: Path, *launcher: str) -> list[float]:
    """Losses of the steps of a run."""
    options = ["--dtype", "float32", "--device", "cpu", "--data", str(data), "--keep-answers", "--batch", "64", "--epochs", "2"]
    command = [sys.executable, *launcher, "-m", "headstart", "train", str(model), "--output", str(output), "--quiet", *options]
    done = subprocess.run(
        command,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd()},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    entries = [json.loads(line) for line in (output / "run" / "log.jsonl").read_text().splitlines()]
    return [entry["loss"] for entry in entries if entry["event"] == "step"]


def test_two_processes_train_as_one(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=64,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            initializer_range=0.3,
        )
    )
    model.save_pretrained(tmp_path / "model")
    letters_tokenizer().hf.save_pretrained(tmp_path / "model")
    data = tmp_path / "data.jsonl"
    rows = [{"text": "".join(chr(97 + (7 * i + j * j) % 26) for j in range(20))} for i in range(24)]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    one = trained(tmp_path / "model", tmp_path / "one", data)
    launcher = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")  # on a free port
    two = trained(tmp_path / "model", tmp_path / "two", data, *launcher)
    # the same batches, halved, and their gradients added: what differs is the order of sums, in bfloat16 where there is that
    assert len(one) == len(two) > 3
    assert two == pytest.approx(one, rel=2e-3)
    heads = [load_file(tmp_path / name / "heads.safetensors") for name in ("one", "two")]
    for name, tensor in heads[0].items():
        assert torch.allclose(tensor.float(), heads[1][name].float(), atol=5e-3), name
