import shutil
from collections import namedtuple
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.errors import DataError, TrainingError
from headstart.models.transformers_adapter import TransformersModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.batches import Examples, Order
from headstart.train.loop import Trainer
from headstart.train.options import TrainOptions
from headstart.train.plan import Plan, read_plan
from headstart.train.run import train
from headstart.train.shards import Answer, Shard, read_shard, write_shard
from headstart.train.states import ComputedStates, states_of
from tests.train.small_run import fresh

OPTIONS = TrainOptions(
    tokens=600, max_new_tokens=24, max_rows=8, num_heads=2, draft_vocab_size=200, batch=64, lr=5e-3, epochs=2, quiet=True
)
ALL = {0, 1, 2, 3, 4, 5}


def recorded(model: TransformersModel, path: Path) -> Shard:
    """Six answers, one of a single token, with the states that the model has for them."""
    generator = torch.Generator().manual_seed(0)
    groups = []
    for prompt, length in ((3, 9), (5, 1), (1, 14), (7, 2), (2, 30), (4, 11)):
        ids = torch.randint(0, 250, (prompt + length,), generator=generator).tolist()
        hidden_TD = states_of(model, ids)[prompt - 1 : prompt + length - 2]
        groups.append([Answer(ids[:prompt], ids[prompt:], hidden_TD, False, "given")])
    write_shard(path, 0, groups, {})
    return read_shard(path)


def trainer(model: TransformersModel, examples: Examples) -> Trainer:
    config = HeadsConfig(hidden_size=32, vocab_size=260, num_heads=2, num_layers=1)
    torch.manual_seed(0)
    return Trainer(
        model,
        MedusaHeads(config),
        examples,
        by_frequency_V=torch.arange(260),
        plan=Plan("tiny", {}, 8, 100, 12, 1.0),
        batch=16,
        peak_rate=1e-2,
        seed=1,
        soft_targets=0.5,
    )


def test_computed_states_are_the_stored_ones_in_any_order(model: TransformersModel, tmp_path: Path) -> None:
    shard = recorded(model, tmp_path / "a")
    stored, computed = Examples([shard], ALL), Examples([shard], ALL, ComputedStates(model, [shard]))
    index_B = torch.randperm(len(stored), generator=torch.Generator().manual_seed(3))
    for part_B in (index_B, index_B[:5], torch.arange(len(stored))):
        a, b = (
            stored.gather(part_B, 3, torch.device("cpu"), deciding=True),
            computed.gather(part_B, 3, torch.device("cpu"), deciding=True),
        )
        for one, other in ((a.hidden_BD, b.hidden_BD), (a.deciding_BKD, b.deciding_BKD)):
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)  # a text without its end is padded elsewhere
    assert model.cache.rows == 0


def test_heads_are_those_of_stored_states_up_to_rounding(
    model: TransformersModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve steps in one and the same order; without that, stored states are taken from all answers at once."""
    monkeypatch.setattr("headstart.train.loop.training_dtype", lambda device: torch.float32)  # whose rounding would hide a mix-up
    shard = recorded(model, tmp_path / "a")
    both = [trainer(model, Examples([shard], ALL)), trainer(model, Examples([shard], ALL, ComputedStates(model, [shard])))]
    both[0].order = both[1].order
    for _ in range(12):
        losses = [one.train_step().loss for one in both]
        assert losses[0] == pytest.approx(losses[1], abs=1e-4)
    for one, other in zip(both[0].heads.parameters(), both[1].heads.parameters(), strict=True):
        torch.testing.assert_close(one, other, atol=2e-3, rtol=1e-3)


def test_whole_answers_stay_together(model: TransformersModel, tmp_path: Path) -> None:
    """62 states of five answers make three batches of 16 or more; each epoch runs through the answers in another order."""
    shard = recorded(model, tmp_path / "a")
    examples = Examples([shard], ALL)
    order = Order(len(examples), 16, 0, answers=examples.spans)
    assert (len(examples), order.per_epoch) == (8 + 13 + 1 + 29 + 10, 3)
    first = torch.cat([order[i] for i in range(3)])
    assert len(set(first.tolist())) == 48
    assert int((first.diff() != 1).sum()) <= 4  # five answers have at most four seams
    assert order[3].tolist() != order[0].tolist() or order[4].tolist() != order[1].tolist()


def test_a_run_without_stored_states(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """It goes on after a stop with the very same heads, and a run of the other kind takes nothing from it."""
    options = replace(OPTIONS, cache="none")
    first, second = tmp_path / "first", tmp_path / "second"
    train(fresh(llama), tokenizer, first, options=options)
    shards = sorted((first / "run" / "shards").iterdir())
    assert all("hidden" not in load_file(path) or load_file(path)["hidden"].shape[0] == 0 for path in shards)
    with pytest.raises(DataError, match=r"holds no hidden states.*--cache disk"):
        read_shard(shards[0])
    shutil.copytree(first, second)
    (second / "run" / "checkpoint.safetensors").unlink()
    train(fresh(llama), tokenizer, second, options=replace(options, resume=True, cache="auto"))
    a, b = load_file(first / "heads.safetensors"), load_file(second / "heads.safetensors")
    assert all(torch.equal(a[name], b[name]) for name in a)
    with pytest.raises(TrainingError, match="cache='none', not 'disk'"):
        train(fresh(llama), tokenizer, second, options=replace(options, resume=True, cache="disk"))
    checkpoint = (first / "run" / "checkpoint.safetensors").read_bytes()
    train(fresh(llama), tokenizer, tmp_path / "third", options=OPTIONS)
    (tmp_path / "third" / "run" / "checkpoint.safetensors").write_bytes(checkpoint)
    with pytest.raises(TrainingError, match=r"checkpoint .* is not of the run that run\.json beside it describes"):
        train(fresh(llama), tokenizer, tmp_path / "third", options=replace(OPTIONS, resume=True))


def test_a_small_disk(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """600 tokens and a shard of 25 answers of 24: 1,200 states of 32 float32 numbers, 158,400 bytes with ids."""
    usage = namedtuple("usage", "free")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(158_400))  # no tenth to spare
    with pytest.raises(TrainingError, match=r"up to 1,200 answer tokens.*0\.16 MB.*0\.16 MB are free.*--cache none"):
        train(fresh(llama), tokenizer, tmp_path / "out", options=replace(OPTIONS, cache="disk"))
    assert not (tmp_path / "out" / "run" / "run.json").exists()  # so that it can be tried again
    train(fresh(llama), tokenizer, tmp_path / "out", options=OPTIONS)
    assert read_plan(tmp_path / "out" / "run" / "run.json").cache == "none"
