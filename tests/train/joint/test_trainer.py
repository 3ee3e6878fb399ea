"""Losses, gradients and rates of joint training, against plain autograd on a tiny model."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from transformers import LlamaForCausalLM

from headstart.drafters.heads import MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.errors import TrainingError
from headstart.train.joint.backbone import Backbone
from headstart.train.joint.checkpoint import load_checkpoint, save_checkpoint
from headstart.train.joint.options import JointOptions
from headstart.train.joint.packing import RowOrder
from headstart.train.joint.texts import texts_of
from headstart.train.joint.trainer import JointTrainer, head_weight_at
from headstart.train.loss import DECAY
from headstart.train.recorded import read_recorded
from tests.train.joint.backbones import with_backbone
from tests.train.joint.conftest import Place

OPTIONS = JointOptions(
    rank=4, alpha=8, length=40, batch=2, rows_at_once=2, lr=1e-3, head_weight=0.5, soft_targets=0.0, dropout=0.0, dtype="float32"
)


def trainer(place: Place, options: JointOptions = OPTIONS, *, awake: bool = False) -> JointTrainer:
    """``awake`` gives the LoRA matrices values that are not zero, so that all of them have a gradient."""
    model = LlamaForCausalLM.from_pretrained(place.model, dtype=torch.float32)
    backbone = Backbone(model, "tiny", options, torch.float32)
    heads = HeadsDirectory.from_pretrained(place.heads).heads
    assert isinstance(heads, MedusaHeads)
    texts, cut = texts_of(read_recorded(place.shards, hidden_size=32, vocab_size=260), options.length)
    assert not cut
    order = RowOrder(texts, length=options.length, batch=options.batch, seed=0)
    made = JointTrainer(backbone, heads, order, options, steps=10, by_frequency_V=torch.arange(260))
    if awake:
        generator = torch.Generator().manual_seed(5)
        with torch.no_grad():
            for parameter in (*backbone.trained().values(), *heads.parameters()):
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.05)
    return made


def gradients(made: JointTrainer) -> dict[str, torch.Tensor]:
    """Of the first step, before they are clipped and used."""
    kept: dict[str, torch.Tensor] = {}

    def keep(parameters: list[torch.nn.Parameter], _: float) -> torch.Tensor:
        names = {id(p): n for n, p in (*made.backbone.trained().items(), *made.heads.named_parameters())}
        kept.update({names[id(p)]: p.grad.clone() for p in parameters if p.grad is not None})
        return torch.zeros(())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.utils, "clip_grad_norm_", keep)
        made.train_step(still=True)
    return kept


def plain_gradients(made: JointTrainer, options: JointOptions) -> dict[str, torch.Tensor]:
    """The same by the definition: every text alone, whole logits, autograd."""
    own, heads_K, weight = [], [[], []], head_weight_at(0, 10, options.head_weight)
    head_matrix = made.backbone.model.lm_head.weight.detach()
    for text in (each for row in made.order[0] for each in row):
        hidden_TD = made.backbone.model.base_model(text.ids[None, :-1]).last_hidden_state[0, text.prompt - 1 :]
        answer = text.ids[text.prompt :]
        logits_TV = hidden_TD @ head_matrix.T
        if options.target == "tokens":
            own += list(F.cross_entropy(logits_TV, answer, reduction="none"))
        else:
            target_TV = F.one_hot(answer, 260).float()
            target_TV[:-1] = torch.softmax(text.state(0, text.answer) @ head_matrix.T, -1)  # the last one has no recorded state
            own += list(-(target_TV * logits_TV.log_softmax(-1)).sum(-1))
        roots = made.backbone.model.get_input_embeddings()(answer[:-1]).detach()
        states_KTD = made.heads.states(hidden_TD[:-1], roots)
        for k in range(2):
            logits = states_KTD[k][: len(answer) - 1 - k] @ head_matrix.T  # the place of token i guesses token i + 1 + k
            heads_K[k] += list(F.cross_entropy(logits, answer[1 + k :], reduction="none"))
    own_loss = torch.stack(own).mean()
    head_loss = sum(DECAY**k * torch.stack(heads_K[k]).mean() for k in range(2))
    model, heads = made.backbone.trained(), dict(made.heads.named_parameters())
    found = dict(
        zip(model, torch.autograd.grad(own_loss + weight * head_loss, list(model.values()), retain_graph=True), strict=True)
    )
    mean = head_loss / sum(DECAY**k for k in range(2))  # the heads learn from the weighted mean, whatever it counts for the model
    return found | dict(zip(heads, torch.autograd.grad(mean, list(heads.values())), strict=True))


@pytest.mark.parametrize("backbone", ["lora", "full"])
@pytest.mark.parametrize("target", ["tokens", "distill"])
def test_gradients_are_those_of_the_definition(place: Place, backbone: str, target: str) -> None:
    options = with_backbone(replace(OPTIONS, target=target), backbone)
    made = trainer(place, options, awake=backbone == "lora")
    ours, true = gradients(made), plain_gradients(made, options)
    assert ours.keys() == true.keys()
    for name, gradient in true.items():
        assert torch.allclose(ours[name], gradient, rtol=1e-3, atol=1e-5 * max(1.0, float(gradient.abs().max()))), name


def test_passes_of_any_size_give_the_same_gradient(place: Place) -> None:
    # means are taken over the whole step, not over each pass
    whole = gradients(trainer(place, awake=True))
    halves = gradients(trainer(place, replace(OPTIONS, rows_at_once=1), awake=True))
    for name, gradient in whole.items():
        assert torch.allclose(halves[name], gradient, rtol=1e-3, atol=1e-6), name


def test_checkpointing_gives_the_same_gradient_with_dropout(place: Place) -> None:
    options = replace(OPTIONS, dropout=0.3)
    kept = gradients(trainer(place, options, awake=True))
    again = gradients(trainer(place, replace(options, checkpointing=True), awake=True))
    for name, gradient in kept.items():
        assert torch.allclose(again[name], gradient, rtol=1e-4, atol=1e-7), name


def test_the_untouched_model_has_nothing_to_learn_from_itself(place: Place) -> None:
    made = trainer(place, replace(OPTIONS, head_weight=0.0))
    own = {name: gradient for name, gradient in gradients(made).items() if name.startswith("model.")}
    tokens = gradients(trainer(place, replace(OPTIONS, head_weight=0.0, target="tokens")))
    # only the last token of each answer has no recorded distribution; towards the tokens themselves there is much to learn
    assert own
    assert sum(float(g.norm()) for g in own.values()) < 0.3 * sum(float(tokens[name].norm()) for name in own)


def test_heads_learn_at_a_multiple_of_the_models_rate_biases_included(place: Place) -> None:
    made = trainer(place)
    report = made.train_step()
    rate_of = {id(p): group["lr"] for group in made.optimizer.param_groups for p in group["params"]}
    decay_of = {id(p): group["weight_decay"] for group in made.optimizer.param_groups for p in group["params"]}
    assert {rate_of[id(p)] for p in made.backbone.trained().values()} == {report.rate}
    assert {rate_of[id(p)] for p in made.heads.parameters()} == {4 * report.rate}
    assert decay_of[id(made.heads.block_bias)] == 0 < decay_of[id(made.heads.block_weight)]


def test_a_step_without_anything_for_the_heads(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of one token each: the model learns them, and of the heads nothing is known."""
    made = trainer(place)
    short = [replace(text, ids=text.ids[: text.prompt + 1]) for row in made.order[0] for text in row]
    monkeypatch.setattr(type(made.order), "__getitem__", lambda self, step: [[text] for text in short])
    report = made.train_step()
    assert math.isfinite(report.own)
    assert math.isnan(report.loss)
    assert made.step == 1


def test_a_checkpoint_of_another_rank(place: Place, tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "checkpoint", trainer(place), "plan")
    with pytest.raises(TrainingError, match=r"cannot be used: .* has shape \[.*\]; expected \[.*\]"):
        load_checkpoint(tmp_path / "checkpoint", trainer(place, replace(OPTIONS, rank=1)), "plan")


def test_the_heads_weight_rises_along_a_quarter_of_a_sine() -> None:
    # sin(30), sin(60) and sin(90) degrees
    assert [round(head_weight_at(step, 3, 2.0), 6) for step in range(3)] == [1.0, 1.732051, 2.0]


def test_measuring_the_speed_changes_nothing(place: Place) -> None:
    measured, fresh = trainer(place), trainer(place)
    assert measured.seconds_per_step(1) > 0
    for made in (measured, fresh):
        made.train_step()
    for name, parameter in fresh.backbone.trained().items():
        assert torch.equal(measured.backbone.trained()[name], parameter), name


@pytest.mark.parametrize("kind", ["lora", "full"])
def test_the_saved_model_keeps_its_rotary_frequencies(place: Place, tmp_path: Path, kind: str) -> None:
    # 8 bits of a frequency are wrong by up to a radian after some hundred positions: the figures would be another model's
    backbone = trainer(place, with_backbone(OPTIONS, kind), awake=True).backbone
    backbone.save(tmp_path, None, torch.bfloat16)
    loaded = LlamaForCausalLM.from_pretrained(tmp_path)
    assert {p.dtype for p in loaded.parameters()} == {torch.bfloat16}
    assert {p.dtype for p in backbone.model.parameters()} == {torch.float32}  # rounded, and computing as it did before
    assert torch.equal(backbone.model.model.rotary_emb.inv_freq, loaded.model.rotary_emb.inv_freq)
    assert loaded.model.rotary_emb.inv_freq.dtype == torch.float32
    for name, parameter in loaded.named_parameters():
        assert torch.equal(parameter.float(), backbone.model.get_parameter(name)), name
