"""Joint runs on a tiny model, from heads and recorded answers to a model that drafts for itself."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

import headstart
from headstart.drafters.heads import MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.errors import DataError, HeadstartError, InvalidParameterError, TrainingError
from headstart.models.source import load_pretrained
from headstart.train.joint.options import JointOptions
from headstart.train.joint.run import train_joint
from headstart.train.joint.tasks import Solved
from headstart.train.joint.texts import texts_of
from headstart.train.joint.trainer import JointTrainer, StepReport
from headstart.train.recorded import read_recorded
from headstart.train.shards import Answer, read_shard, shard_path, write_shard
from headstart.train.states import StoredStates
from tests.train.joint.backbones import with_backbone
from tests.train.joint.conftest import Place

OPTIONS = JointOptions(
    rank=4, alpha=8, length=40, batch=2, rows_at_once=1, lr=2e-3, head_weight=0.5, epochs=2, dtype="float32", seed=3, quiet=True
)


@pytest.mark.parametrize("backbone", ["lora", "full"])
def test_a_run_ends_with_a_model_that_drafts_for_itself(place: Place, tmp_path: Path, backbone: str) -> None:
    output = tmp_path / "out"
    options = with_backbone(replace(OPTIONS, heads=place.heads), backbone)
    judged: list[str] = []

    def judge(llm: headstart.LLM) -> dict[str, dict[str, bool]]:
        """Says that the model as it was solves the first of two tasks, and the new one the second."""
        judged.append(llm.model.facts.name)
        return {"letters": {"a": len(judged) == 1, "b": len(judged) == 2}}

    result = train_joint(place.model, output, options=options, device="cpu", judge=judge)
    assert judged == [place.model, str(output)]
    assert result.tasks == {"letters": Solved(tasks=2, before=1, after=1, gained=1, lost=1)}
    llm = headstart.load(output, device="cpu", dtype="float32")
    prompt = list(range(10, 20))
    drafted = llm.generate(prompt, max_new_tokens=24, temperature=0.0, ignore_eos=True, nodes=4)
    plain = llm.generate(prompt, max_new_tokens=24, temperature=0.0, ignore_eos=True, drafter="none")
    assert drafted.token_ids == plain.token_ids
    assert (output / "adapter").exists() == (backbone == "lora")
    before = headstart.load(place.model, heads=None, dtype="float32")
    ids, states = torch.arange(8), torch.randn(2, 32)
    # the LM head and the embeddings are those that the heads were trained with; the layers are not
    assert torch.equal(before.model.embed(ids), llm.model.embed(ids))
    assert torch.equal(before.model.lm_head(states), llm.model.lm_head(states))
    changed = [name for name, tensor in load_file(output / "model.safetensors").items() if "layers" in name and tensor.dim() == 2]
    untouched = load_file(Path(place.model) / "model.safetensors")
    assert all(not torch.equal(load_file(output / "model.safetensors")[name], untouched[name]) for name in changed)
    assert result.perplexity_before > 1
    assert result.perplexity > 1
    card = (output / "README.md").read_text()
    assert f"{result.perplexity:.4f}" in card
    assert f"{result.agreement:.2%}" in card
    assert "| letters | 2 | 1 | 1 (1 gained, 1 lost) |" in card
    assert [each.drafter for each in result.decoded] == ["medusa", "medusa-static"]
    for each in result.decoded:
        assert each.line in card
        assert 1.0 <= each.tokens_per_step <= 3.0
    assert (output / "loss.png").stat().st_size > 1000
    entries = [json.loads(line) for line in (output / "run" / "log.jsonl").read_text().splitlines()]
    steps = [entry for entry in entries if entry["event"] == "step"]
    assert [entry["step"] for entry in steps] == list(range(result.steps))
    assert sum(entry["positions"] for entry in steps) == result.tokens
    (half,) = [entry for entry in entries if entry["event"] == "evaluation"]
    assert len(half["top_KT"]) == 2
    assert half["top_KT"][0][0] == half["top1_first_head"]
    assert half["score"] >= 1
    assert HeadsDirectory.from_pretrained(output / "headstart").predicted["perplexity"] == pytest.approx(result.perplexity)


@pytest.mark.parametrize("backbone", ["lora", "full"])
def test_what_nothing_changed_is_measured_the_same_before_and_after(
    place: Place, tmp_path: Path, backbone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where training computes in another format than the model is used in."""
    rounded = LlamaForCausalLM.from_pretrained(place.model, dtype=torch.bfloat16)
    rounded.save_pretrained(tmp_path / "model")
    monkeypatch.setattr("headstart.train.joint.run.training_dtype", lambda device: torch.float32)
    monkeypatch.setattr("headstart.train.joint.ending.resolve_dtype", lambda dtype, device: torch.bfloat16)
    options = with_backbone(replace(OPTIONS, heads=place.heads, dtype="auto", lr=1e-12, dropout=0.0, epochs=0.5), backbone)
    result = train_joint(str(tmp_path / "model"), tmp_path / "out", options=options, device="cpu")
    assert {tensor.dtype for tensor in load_file(tmp_path / "out" / "model.safetensors").values()} == {torch.bfloat16}
    assert result.agreement == 1
    assert result.perplexity == pytest.approx(result.perplexity_before, rel=1e-6)
    assert json.loads((tmp_path / "out" / "run" / "run.json").read_text())["compute"] == "float32"


@pytest.mark.parametrize("backbone", ["lora", "full"])
def test_the_last_layers_alone(place: Place, tmp_path: Path, backbone: str) -> None:
    output = tmp_path / "out"
    train_joint(place.model, output, options=with_backbone(replace(OPTIONS, heads=place.heads, layers=1), backbone), device="cpu")
    now, before = load_file(output / "model.safetensors"), load_file(Path(place.model) / "model.safetensors")
    matrices = {name for name, tensor in before.items() if ".layers.1." in name and tensor.dim() == 2}
    assert {name for name in before if name in now and not torch.equal(now[name], before[name])} >= matrices
    others = {name for name in before if ".layers.1." not in name}
    assert all(torch.equal(now[name], before[name]) for name in others)
    which = "the linear layers of the last 1 layers, merged" if backbone == "lora" else "the last 1 of them trained"
    assert which in (output / "README.md").read_text()


@pytest.mark.parametrize("backbone", ["lora", "full"])
def test_more_layers_than_there_are(place: Place, tmp_path: Path, backbone: str) -> None:
    options = with_backbone(replace(OPTIONS, heads=place.heads, layers=3), backbone)
    with pytest.raises(TrainingError, match="layers is 3, and LlamaForCausalLM has 2; give at most that"):
        train_joint(place.model, tmp_path / "out", options=options, device="cpu")


class Killed(Exception):
    """Stands for the end of the process."""


def test_a_resumed_run_ends_with_the_same_bits(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = replace(OPTIONS, heads=place.heads, dropout=0.2)
    train_joint(place.model, tmp_path / "whole", options=options, device="cpu", checkpoint_seconds=0)
    step = JointTrainer.train_step

    def dying(self: JointTrainer, *, still: bool = False) -> StepReport:
        if self.step == 3:
            raise Killed
        return step(self, still=still)

    monkeypatch.setattr(JointTrainer, "train_step", dying)
    with pytest.raises(Killed):
        train_joint(place.model, tmp_path / "killed", options=options, device="cpu", checkpoint_seconds=0)
    monkeypatch.setattr(JointTrainer, "train_step", step)
    train_joint(place.model, tmp_path / "killed", options=replace(options, resume=True), device="cpu")
    for file in ("model.safetensors", "headstart/heads.safetensors"):
        whole, killed = load_file(tmp_path / "whole" / file), load_file(tmp_path / "killed" / file)
        assert whole.keys() == killed.keys()
        assert all(torch.equal(whole[name], killed[name]) for name in whole), file


def test_a_resumed_run_is_given_what_it_began_with(place: Place, tmp_path: Path) -> None:
    options, output = replace(OPTIONS, heads=place.heads, epochs=0.5), tmp_path / "out"
    train_joint(place.model, output, options=options, device="cpu")
    run_file = output / "run" / "run.json"
    saved = run_file.read_text()

    def resumed(message: str, written: str = saved, **change: Any) -> None:
        run_file.write_text(written)
        with pytest.raises(TrainingError, match=message):
            train_joint(place.model, output, options=replace(options, resume=True, **change), device="cpu")

    resumed(r"lr=0\.002, not 0\.1", lr=0.1)
    other = tmp_path / "other-heads"  # put in the place of those that the run began with
    heads = HeadsDirectory.from_pretrained(place.heads)
    config = replace(heads.heads.config, num_layers=2)
    HeadsDirectory(MedusaHeads(config), heads.tree, base_check=heads.base_check).save_pretrained(other)
    known = saved.replace(json.dumps(place.heads), json.dumps(str(other))).replace('"shards": null', f'"shards": "{place.shards}"')
    resumed(r"are not those that the run in .* was started with", known, heads=str(other), shards=place.shards)
    moved = tmp_path / "shards"  # a single id is another, so that all counts are as they were
    shutil.copytree(place.shards, moved)
    shard = read_shard(shard_path(moved, 1))
    tensors = load_file(shard.path)
    tensors["tokens"][-1] = (tensors["tokens"][-1] + 1) % 256
    shard.path.write_bytes(safetensors.torch.save(tensors, shard.metadata))
    elsewhere = saved.replace('"shards": null', f'"shards": "{moved}"')
    resumed(r"the answers in .*shards, are not those that the run in .* was started with", elsewhere, shards=moved)
    resumed(r"checkpoint .* is not of the run that run\.json beside it", saved.replace('"lr": 0.002', '"lr": 0.1'), lr=0.1)
    run_file.write_text(saved)
    with pytest.raises(TrainingError, match="there is a run"):
        train_joint(place.model, output, options=options, device="cpu")


def test_a_resumed_run_is_given_the_weights_it_began_with(place: Place, tmp_path: Path) -> None:
    """Other weights under the same name, and nearly the same: LoRA's matrices would be put beside them."""
    model, output = tmp_path / "model", tmp_path / "out"
    shutil.copytree(place.model, model)
    options = replace(OPTIONS, heads=place.heads, shards=place.shards, epochs=0.5)
    train_joint(str(model), output, options=options, device="cpu")
    weights = load_file(model / "model.safetensors")
    weights["model.layers.0.mlp.up_proj.weight"] *= 1.001
    safetensors.torch.save_file(weights, model / "model.safetensors", {"format": "pt"})
    with pytest.raises(TrainingError, match=r"the model, the heads, or the answers in .* are not those that the run"):
        train_joint(str(model), output, options=replace(options, resume=True), device="cpu")


def test_the_models_own_directory_is_no_output(place: Place, tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(place.model, model)
    before = {path.name: path.read_bytes() for path in model.iterdir() if path.is_file()}
    options = replace(OPTIONS, heads=place.heads, shards=place.shards)
    with pytest.raises(TrainingError, match=rf"a model lies in {model}, and what is trained would replace its files"):
        train_joint(str(model), model, options=options, device="cpu")
    assert {path.name: path.read_bytes() for path in model.iterdir() if path.is_file()} == before


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"shards": Path("nowhere")}, DataError, "no recorded answers in nowhere"),
        ({"heads": "auto"}, TrainingError, "has no heads yet"),
        ({"resume": True}, TrainingError, "no run to resume"),
    ],
)
def test_what_is_missing_is_named(
    place: Place, tmp_path: Path, change: dict[str, object], error: type[HeadstartError], message: str
) -> None:
    options = replace(replace(OPTIONS, heads=place.heads), **change)  # type: ignore[arg-type]
    with pytest.raises(error, match=message):
        train_joint(place.model, tmp_path / "out", options=options, device="cpu")


def test_several_processes_are_refused(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # each would train for itself and write to the same directory
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(TrainingError, match="one of 2"):
        train_joint(place.model, tmp_path / "out", options=replace(OPTIONS, heads=place.heads), device="cpu")
    assert not (tmp_path / "out").exists()


def test_a_quantised_model_is_refused(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its packed weights have no gradient, and a merged adapter could not be packed again, which would show at the end."""

    def quantised(*given: Any) -> Any:
        pretrained, tokenizer, name = load_pretrained(*given)
        pretrained.hf_quantizer = object()
        return pretrained, tokenizer, name

    monkeypatch.setattr("headstart.train.joint.run.load_pretrained", quantised)
    with pytest.raises(TrainingError, match=r"model is quantised, and weights of a few bits cannot be trained"):
        train_joint(place.model, tmp_path / "out", options=replace(OPTIONS, heads=place.heads), device="cpu")


def test_answers_of_another_model_are_refused(place: Place, tmp_path: Path) -> None:
    for number in range(2):
        shard = read_shard(shard_path(place.shards, number))
        states = [torch.roll(s, 7, -1) for s in shard.hidden_SD.split([n - 1 for n in shard.answer_lengths])]  # unlike the model's
        size = len(shard.prompt_lengths)
        prompts, answers = shard.prompt_tokens.view(size, -1).tolist(), shard.tokens.view(size, -1).tolist()
        made = [[Answer(*whole, True, "test")] for whole in zip(prompts, answers, states, strict=True)]
        write_shard(shard_path(tmp_path, number), number * size, made, {})
    with pytest.raises(DataError, match="recorded with another model"):
        train_joint(place.model, tmp_path / "out", options=replace(OPTIONS, heads=place.heads, shards=tmp_path), device="cpu")


def test_answers_of_one_token_have_no_states_and_do_no_harm(place: Place, tmp_path: Path) -> None:
    """A shard of nothing else, before the others: it says nothing about their width."""
    write_shard(shard_path(tmp_path, 0), 100, [[Answer([5, 6], [7], torch.zeros(0, 32), True, "test")]], {})
    for number in range(2):
        (tmp_path / shard_path(tmp_path, number + 1).name).write_bytes(shard_path(place.shards, number).read_bytes())
    texts, _ = texts_of(read_recorded(tmp_path, hidden_size=32, vocab_size=260), 40)
    assert len(texts) == 25
    options = replace(OPTIONS, heads=place.heads, shards=tmp_path, epochs=1)
    assert train_joint(place.model, tmp_path / "out", options=options, device="cpu").perplexity > 1
    stored = StoredStates([read_shard(shard_path(tmp_path, number)) for number in range(2)])
    assert stored(torch.tensor([1]), torch.tensor([3])).shape == (1, 32)


@pytest.mark.parametrize(
    "change", [{"layers": 0}, {"rank": 0}, {"dropout": 1.0}, {"lr": 0.0}, {"head_weight": -1.0}, {"length": 3}]
)
def test_options_outside_their_range(change: dict[str, float]) -> None:
    with pytest.raises(InvalidParameterError, match=next(iter(change))):
        replace(OPTIONS, **change)  # type: ignore[arg-type]
