"""Two processes on a CPU train the heads that one would have trained, whoever starts them."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaConfig, LlamaForCausalLM

from tests.tiny_models import letters_tokenizer

pytestmark = pytest.mark.slow


MPIRUN = """#!{python}
import os, subprocess, sys
if "--version" in sys.argv:
    print("mpirun (Open MPI) 5.0.0")
    raise SystemExit
count, command = int(sys.argv[sys.argv.index("-n") + 1]), sys.argv[sys.argv.index({python!r}) :]
told = [dict(zip(("SIZE", "RANK", "LOCAL_RANK"), map(str, (count, rank, rank)))) for rank in range(count)]
envs = [dict(os.environ, **{{"OMPI_COMM_WORLD_" + name: value for name, value in each.items()}}) for each in told]
raise SystemExit(max(process.wait() for process in [subprocess.Popen(command, env=env) for env in envs]))
"""
"""Starts processes on this machine and tells them who they are, as Open MPI does."""


def torchrun(place: Path) -> list[str]:
    return ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"]  # on a free port


def accelerate_by_mpi(place: Path) -> list[str]:
    """As ``accelerate launch`` starts several processes on CPUs."""
    (place / "mpirun").write_text(MPIRUN.format(python=sys.executable))
    (place / "mpirun").chmod(0o755)
    (place / "hosts").write_text("localhost slots=2\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    words = ["accelerate.commands.launch", "--cpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no"]
    return [*words, "--dynamo_backend", "no", "--mpirun_hostfile", str(place / "hosts"), "--main_process_port", port]


def trained(model: Path, output: Path, data: Path, *launcher: str) -> list[float]:
    """Losses of the steps of a run."""
    options = ["--dtype", "float32", "--device", "cpu", "--data", str(data), "--keep-answers", "--batch", "64", "--epochs", "2"]
    command = [sys.executable, *launcher, "-m", "headstart", "train", str(model), "--output", str(output), "--quiet", *options]
    done = subprocess.run(
        command,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.getcwd(), "PATH": f"{data.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    entries = [json.loads(line) for line in (output / "run" / "log.jsonl").read_text().splitlines()]
    return [entry["loss"] for entry in entries if entry["event"] == "step"]


@pytest.mark.parametrize("launcher", [torchrun, accelerate_by_mpi])
def test_two_processes_train_as_one(launcher: Callable[[Path], list[str]], tmp_path: Path) -> None:
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
    two = trained(tmp_path / "model", tmp_path / "two", data, "-m", *launcher(tmp_path))
    # the same batches, halved, and their gradients added: what differs is the order of sums, in bfloat16 where there is that
    assert len(one) == len(two) > 3
    assert two == pytest.approx(one, rel=2e-3)
    heads = [load_file(tmp_path / name / "heads.safetensors") for name in ("one", "two")]
    for name, tensor in heads[0].items():
        # Adam divides by the size of a gradient, so that one that is nearly nothing is moved by its rounding
        apart = float((tensor.float() - heads[1][name].float()).norm() / tensor.float().norm().clamp(min=1e-9))
        assert apart < 0.05, (name, apart)
