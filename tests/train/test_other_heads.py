"""Heads from answers that another run has recorded (``--shards``)."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

from headstart.drafters.heads import MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.errors import DataError, TrainingError
from headstart.models.dtype import DTYPES, training_dtype
from headstart.text.tokenizer import Tokenizer
from headstart.train.plan import read_plan
from headstart.train.processes import ALONE
from headstart.train.run import follow, train
from headstart.train.shards import Shard, read_shard, shard_path, write_shard
from tests.train.small_run import OPTIONS, fresh


def test_other_heads_from_the_same_answers(finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """The same heads bit for bit as of the run that recorded them; nothing is written or taken away there."""
    shards = finished / "run" / "shards"
    before = {path.name: path.read_bytes() for path in shards.iterdir()}
    options = replace(OPTIONS, tokens=None, shards=shards)
    result = train(fresh(llama), tokenizer, tmp_path / "same", options=options)
    expected, got = load_file(finished / "heads.safetensors"), load_file(tmp_path / "same" / "heads.safetensors")
    assert expected.keys() == got.keys()
    assert all(torch.equal(expected[name], got[name]) for name in expected)
    assert not (tmp_path / "same" / "run" / "shards").exists()
    for output in (finished, tmp_path / "same"):
        assert DTYPES[read_plan(output / "run" / "run.json").compute] == training_dtype(torch.device("cpu"))
    assert "answers that another run had recorded" in (tmp_path / "same" / "README.md").read_text()
    assert result.tokens == sum(len(read_shard(path).tokens) for path in shards.iterdir())
    other = replace(options, projection="low-rank", projection_rank=4, epochs=1)
    train(fresh(llama), tokenizer, tmp_path / "other", options=other)
    directory = HeadsDirectory.from_pretrained(tmp_path / "other")
    assert isinstance(directory.heads, MedusaHeads)
    assert float(directory.heads.projection_out.detach().float().norm()) > 0  # it has learned
    assert "low-rank projection (rank 4)" in (tmp_path / "other" / "README.md").read_text()
    computed = train(fresh(llama), tokenizer, tmp_path / "computed", options=replace(options, cache="none", epochs=1))
    assert computed.tokens == result.tokens
    assert {path.name: path.read_bytes() for path in shards.iterdir()} == before


def test_recorded_answers_that_cannot_be_used(
    finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    options = replace(OPTIONS, tokens=None, shards=tmp_path / "nowhere")
    with pytest.raises(DataError, match=r"no recorded answers in .*nowhere.*OUTPUT/run/shards"):
        train(fresh(llama), tokenizer, tmp_path / "out", options=options)
    torch.manual_seed(9)
    other = LlamaForCausalLM(llama.config).eval()
    with pytest.raises(DataError, match=r"recorded with another model than tiny.*cosine"):
        train(fresh(other), tokenizer, tmp_path / "out", options=replace(options, shards=finished / "run" / "shards"))


def split(shard: Shard, directory: Path, *, backwards: bool = False) -> Path:
    """The answers of ``shard`` in shards of at most 16 conversations, the first or the last ones first."""
    directory.mkdir()
    conversations = shard.conversations()[:: -1 if backwards else 1]
    for start in range(0, len(conversations), 16):
        write_shard(shard_path(directory, start // 16), start, conversations[start : start + 16], {"model": "tiny"})
    return directory


def test_a_resumed_run_wants_the_answers_that_it_began_with(
    finished: Path, llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The last shard is missed as much as one in the middle, and as many answers need not be the same answers."""
    shard = read_shard(finished / "run" / "shards" / "shard-00000.safetensors")
    shards = split(shard, tmp_path / "shards")
    paths = sorted(shards.iterdir())
    assert len(paths) > 3
    options = replace(OPTIONS, tokens=10**6, shards=shards, epochs=1, quiet=False)
    train(fresh(llama), tokenizer, tmp_path / "out", options=options)
    told = " ".join(capsys.readouterr().err.split())
    count = len(shard.tokens)
    assert f"{count:,} answer tokens are recorded in {shards}, {count:,} are taken, fewer than the 1,000,000 asked for" in told
    assert "no hidden states are stored" not in told
    resumed = replace(options, resume=True, quiet=True)
    train(fresh(llama), tokenizer, tmp_path / "out", options=resumed)
    follow(fresh(llama), tmp_path / "out", options=resumed, processes=ALONE)  # as another process of it, which finds nothing to do
    kept = {path: path.read_bytes() for path in paths}
    paths[-1].unlink()
    others = rf"the answers in {shards} are not those that the run in .*out/run was started with"
    with pytest.raises(TrainingError, match=others):
        train(fresh(llama), tokenizer, tmp_path / "out", options=resumed)
    with pytest.raises(TrainingError, match=others):
        follow(fresh(llama), tmp_path / "out", options=resumed, processes=ALONE)
    paths[-1].write_bytes(kept[paths[-1]])
    paths[1].unlink()
    for changed in (resumed, replace(options, quiet=True)):
        with pytest.raises(DataError, match=r"shard-00001\.safetensors is missing, and"):
            train(fresh(llama), tokenizer, tmp_path / f"out{'' if changed.resume else '-2'}", options=changed)
    for path in shards.iterdir():
        path.unlink()
    shards.rmdir()
    split(shard, shards, backwards=True)
    with pytest.raises(TrainingError, match=others):
        train(fresh(llama), tokenizer, tmp_path / "out", options=resumed)
    train(fresh(llama), tokenizer, tmp_path / "other", options=replace(options, cache="none"))
    assert "no hidden states are stored: the model computes them in every step" in capsys.readouterr().err
