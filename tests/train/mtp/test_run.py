"""Training runs as a whole: what they leave behind, and whether it is right."""

import copy
import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM

import headstart
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.mtp_heads import MtpHeads
from headstart.errors import DataError, HeadsError, TrainingError
from headstart.train.mtp.evaluation import on_true_text
from headstart.train.mtp.headed_model import headed
from headstart.train.mtp.options import MtpOptions
from headstart.train.mtp.result import MtpResult
from headstart.train.mtp.run import train_mtp
from headstart.train.mtp.trainer import MtpTrainer, StepReport
from tests.tiny_models import build

LINES = ["one two three four five six seven\n", "red green blue red green blue\n", "a b c d e f g h i j k l m n o p\n"]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    path.write_text("".join(LINES[i % 7 % 3] for i in range(2500)))
    return path


@pytest.fixture(scope="module")
def options(text: Path) -> MtpOptions:
    return MtpOptions(
        text=(text,),
        heads=3,
        tokens=24_000,
        vocab_size=512,
        layers=2,
        hidden_size=32,
        attention_heads=2,
        kv_heads=1,
        intermediate_size=64,
        length=64,
        batch=8,
        lr=1e-2,
        held_out=1100,
        quiet=True,
    )


def continued(options: MtpOptions, trained: MtpResult, **changed: Any) -> MtpOptions:
    """The options to go on with a model whose shape is given."""
    shape = ("vocab_size", "layers", "hidden_size", "attention_heads", "kv_heads", "intermediate_size")
    return replace(options, model=str(trained.directory), **{name: getattr(MtpOptions, name) for name in shape}, **changed)


@pytest.fixture(scope="module")
def trained(options: MtpOptions, tmp_path_factory: pytest.TempPathFactory) -> MtpResult:
    return train_mtp(tmp_path_factory.mktemp("out") / "model", options=options, device="cpu")


def test_the_model_is_an_ordinary_one(trained: MtpResult) -> None:
    model = AutoModelForCausalLM.from_pretrained(trained.directory)
    assert type(model) is LlamaForCausalLM
    assert model.config.num_hidden_layers == 2  # the trunk and the first head
    assert trained.steps == 24_000 // (64 * 8)
    assert trained.tokens == trained.steps * 64 * 8


def test_every_head_has_learned(trained: MtpResult) -> None:
    # the text is nearly a cycle: knowing the frequencies of its tokens alone leaves more than 3 nats
    assert all(nats < 2.5 for nats in trained.held_out.nats_N)
    steps = [json.loads(line) for line in (trained.directory / "log.jsonl").read_text().splitlines()]
    assert [entry["step"] for entry in steps] == list(range(trained.steps))
    assert all(len(entry["loss_K"]) == 3 for entry in steps)
    assert steps[5]["loss"] == pytest.approx(sum(steps[5]["loss_K"]))


def test_it_drafts_for_itself(trained: MtpResult) -> None:
    """Found without being named, and the text is the model's own."""
    llm = headstart.load(trained.directory, dtype="float32")
    assert (llm.model.facts.implementation, llm.drafter) == ("native", "mtp")
    prompts = ["one two", "red", "a b c d"]
    for options in ({}, {"temperature": 1.0, "seed": 3}):
        plain = llm.generate(prompts, max_new_tokens=40, drafter="none", **options)
        for drafter in ("mtp", "mtp-static"):
            outs = llm.generate(prompts, max_new_tokens=40, drafter=drafter, **options)
            assert [out.token_ids for out in outs] == [out.token_ids for out in plain]
    outs = llm.generate(prompts, max_new_tokens=40)
    # a cycle is easy to guess; three tokens at most come from a step
    assert 1.5 < sum(out.stats.emitted_tokens - 1 for out in outs) / sum(out.stats.steps for out in outs) <= 3.0


def test_what_was_measured(trained: MtpResult) -> None:
    greedy, sampled = trained.measured
    assert (greedy.temperature, sampled.temperature) == (0.0, 1.0)
    for found in trained.measured:
        assert found.same == found.texts
        assert found.written == found.texts * 32  # pieces of 64, of which 32 are the prompt
        assert 1.0 <= found.tokens_per_step[4] <= found.tokens_per_step[16] <= 3.0
        # each accepted guess is a token more than one a step
        assert 1 + sum(found.accepted_per_depth) == pytest.approx(found.tokens_per_step[8], abs=0.15)
    assert all(1.0 <= tokens <= 3.0 for tokens in trained.on_true_text.values())
    card = (trained.directory / "headstart" / "README.md").read_text()
    assert f"| 3 | {trained.held_out.nats_N[2]:.3f} |" in card
    assert f"| 8 | {greedy.tokens_per_step[8]:.2f} | {sampled.tokens_per_step[8]:.2f} | {trained.on_true_text[8]:.2f} |" in card


def test_the_heads_directory_is_read_strictly(trained: MtpResult, tmp_path: Path) -> None:
    place = trained.directory / "headstart"
    directory = HeadsDirectory.from_pretrained(place)
    assert isinstance(directory.heads, MtpHeads)
    assert (directory.config.kind, directory.config.num_heads) == ("mtp", 2)
    tensors = load_file(place / "heads.safetensors")
    assert torch.equal(tensors["layers.1.down.weight"], directory.heads.layer(1).down.weight)
    copy = tmp_path / "copy"
    directory.save_pretrained(copy)
    save_file({name: tensor for name, tensor in tensors.items() if name != "norm"}, copy / "heads.safetensors")
    with pytest.raises(HeadsError, match="lacks tensor norm"):
        HeadsDirectory.from_pretrained(copy)
    save_file({**tensors, "norm": torch.ones(5)}, copy / "heads.safetensors")
    with pytest.raises(HeadsError, match=r"tensor norm is float32 of shape \[5\]; expected floating point of shape \[32\]"):
        HeadsDirectory.from_pretrained(copy)


def test_heads_of_another_model_are_refused(trained: MtpResult, options: MtpOptions, tmp_path: Path) -> None:
    other = train_mtp(tmp_path / "other", options=replace(options, heads=1, tokens=2048, seed=5), device="cpu")
    assert other.measured == []
    assert not (other.directory / "headstart").exists()
    with pytest.raises(HeadsError, match=r"the LM head of .* is another one"):
        headstart.load(other.directory, heads=trained.directory / "headstart")


def test_small_heads_are_medusa_heads(options: MtpOptions, tmp_path: Path) -> None:
    result = train_mtp(tmp_path / "model", options=replace(options, head="linear", tokens=8192), device="cpu")
    llm = headstart.load(result.directory, dtype="float32")
    assert llm.heads is not None
    assert llm.heads.config.kind == "medusa"
    out = llm.generate("red green", max_new_tokens=30, drafter="medusa")
    assert out.token_ids == llm.generate("red green", max_new_tokens=30, drafter="none").token_ids
    assert out.stats.tokens_per_step > 1.2


def test_a_model_is_continued(trained: MtpResult, options: MtpOptions, tmp_path: Path) -> None:
    """From its own weights: the loss begins where the first run ended, and the further heads begin as the model's own guess."""
    given = continued(options, trained, tokens=2048, lr=1e-3)
    result = train_mtp(tmp_path / "more", options=given, device="cpu")
    assert result.held_out.nats_N[0] == pytest.approx(trained.held_out.nats_N[0], abs=0.5)
    first = json.loads((result.directory / "log.jsonl").read_text().splitlines()[0])
    # a copy of the first head says the next token again, where the one after it was asked for
    assert first["loss_K"][1] > first["loss_K"][0] + 0.5
    assert headstart.load(result.directory, dtype="float32").drafter == "mtp"


def test_equal_compute(trained: MtpResult) -> None:
    # matrices: a layer has 32 x (2 + 2 * 1) * 16 + 32 * 32 + 3 * 32 * 64 numbers, the unembedding V x 32
    layer, unembedding = 2048 + 1024 + 6144, AutoModelForCausalLM.from_pretrained(trained.directory).config.vocab_size * 32
    assert trained.next_token_operations == 6 * (2 * layer + unembedding)
    assert trained.operations == 6 * trained.tokens * (4 * layer + 3 * unembedding)
    assert trained.equal_compute_tokens == round(trained.operations / trained.next_token_operations)


def test_mistakes(options: MtpOptions, tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("")
    with pytest.raises(TrainingError, match="is not empty"):
        train_mtp(tmp_path / "taken", options=options)
    with pytest.raises(TrainingError, match="cannot write to"):
        train_mtp(tmp_path / "taken" / "file" / "out", options=options)
    (tmp_path / "short.txt").write_text("some words\n" * 400)
    with pytest.raises(DataError, match="Give more text"):
        train_mtp(tmp_path / "short", options=replace(options, text=(tmp_path / "short.txt",), tokens=2048))
    with pytest.raises(TrainingError, match=r"step \d+: the loss is .* and the gradient's norm nan"):
        train_mtp(tmp_path / "hot", options=replace(options, lr=1e30))
    with pytest.raises(TrainingError, match=r"there is a run in .* already; go on with it by --resume"):
        train_mtp(tmp_path / "hot", options=replace(options, heads=1, tokens=2048))
    with pytest.raises(TrainingError, match="there is no run to resume"):
        train_mtp(tmp_path / "cold", options=replace(options, resume=True))


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_a_resumed_run_ends_with_the_same_bits(
    trained: MtpResult, options: MtpOptions, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """With a checkpoint after every step, and with none when it was killed."""
    output, step = tmp_path / "out", MtpTrainer.train_step

    def dying(self: MtpTrainer) -> StepReport:
        if self.step == 7:
            raise Killed
        return step(self)

    monkeypatch.setattr(MtpTrainer, "train_step", dying)
    with pytest.raises(Killed):
        train_mtp(output, options=options, device="cpu", checkpoint_seconds=seconds)
    monkeypatch.setattr(MtpTrainer, "train_step", step)
    with pytest.raises(TrainingError, match=r"lr=0\.01, not 0\.1; resume it with the same"):
        train_mtp(output, options=replace(options, lr=0.1, resume=True), device="cpu")
    was = text.read_text()
    try:
        text.write_text(was.replace("seven", "eleven"))
        with pytest.raises(TrainingError, match=r"the text, or the model, is not what the run in .* was started with"):
            train_mtp(output, options=replace(options, resume=True), device="cpu")
    finally:
        text.write_text(was)
    result = train_mtp(output, options=replace(options, resume=True), device="cpu")
    assert result.operations == trained.operations
    for file in ("model.safetensors", "tokenizer.json", "log.jsonl", "headstart/heads.safetensors"):
        assert (output / file).read_bytes() == (trained.directory / file).read_bytes(), file
    assert (output / "loss.png").stat().st_size > 1000
    (output / "model.safetensors").unlink()
    again = train_mtp(output, options=replace(options, resume=True), device="cpu")  # a finished run is measured anew
    assert replace(again, seconds=0.0, measured=[]) == replace(result, seconds=0.0, measured=[])
    assert (output / "model.safetensors").read_bytes() == (trained.directory / "model.safetensors").read_bytes()


def test_a_run_that_died_before_it_had_begun_is_in_nobodys_way(options: MtpOptions, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json.part").write_text("{")
    assert train_mtp(tmp_path, options=replace(options, heads=1, tokens=2048), device="cpu").steps == 4


def test_a_tokenizer_that_knows_more_than_the_model(trained: MtpResult, options: MtpOptions, tmp_path: Path) -> None:
    shutil.copytree(trained.directory, tmp_path / "model")
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
    tokenizer.add_tokens(["red green blue"])
    tokenizer.save_pretrained(tmp_path / "model")
    given = replace(continued(options, trained), model=str(tmp_path / "model"))
    with pytest.raises(TrainingError, match=r"the tokenizer has \d+ tokens and the model \d+: it is another model's"):
        train_mtp(tmp_path / "out", options=given, device="cpu")


def test_texts_longer_than_the_context_of_a_given_model(trained: MtpResult, options: MtpOptions, tmp_path: Path) -> None:
    given = continued(options, trained, length=200, tokens=8192, held_out=8192)
    with pytest.raises(TrainingError, match=r"length is 200, and .* has a context of 128 positions"):
        train_mtp(tmp_path / "out", options=given)


def test_a_finished_run_has_no_dropout() -> None:
    model = build("gpt2", dtype=torch.float32, resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.5)
    options = MtpOptions(head="residual", heads=2, length=64, batch=2, tokens=2048, held_out=2048)
    stream = torch.arange(400, dtype=torch.int32) % 60
    losses = []
    for _ in range(2):  # and what it was in training follows from the seed
        trainer = MtpTrainer(headed(copy.deepcopy(model), 1, "residual"), stream, options, torch.device("cpu"), torch.float32)
        losses.append(trainer.train_step().loss)
    assert losses[0] == losses[1]
    trainer.end()
    known = [on_true_text(trainer.headed, [stream[None, :60].long()]) for _ in range(2)]
    assert known[0] == known[1]
