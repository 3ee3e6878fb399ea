"""A joint run from trained heads and recorded answers to a model with heads of its own (Medusa-2).

The first of the two stages, the heads alone, is :func:`headstart.train.run.train`. ``OUTPUT`` becomes a model directory, its heads
lie in ``OUTPUT/headstart`` and, with LoRA, the adapter in ``OUTPUT/adapter``; ``OUTPUT/run`` holds what a resumed run needs.
Source: Medusa (Cai et al. 2024), sections 2.2.2 and 2.3.2.
"""

import time
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from transformers import PreTrainedTokenizerBase

from headstart.drafters.heads import MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.errors import DataError, TrainingError
from headstart.finding_heads import find_heads, heads_beside
from headstart.models.dtype import DTYPES, dtype_name, resolve_device, training_dtype
from headstart.models.source import find, load_pretrained
from headstart.train.accuracy import top_shares
from headstart.train.digest import digest_of_answers, digest_of_heads, digest_of_tensors
from headstart.train.draft_vocab import frequent_ids
from headstart.train.held_out import split
from headstart.train.joint.backbone import Backbone
from headstart.train.joint.checkpoint import load_checkpoint, save_checkpoint
from headstart.train.joint.ending import finish
from headstart.train.joint.options import JointOptions
from headstart.train.joint.packing import RowOrder
from headstart.train.joint.plan import JointPlan, read_joint_plan
from headstart.train.joint.quality import Seen, look
from headstart.train.joint.result import JointResult, worth_of
from headstart.train.joint.tasks import Judge
from headstart.train.joint.texts import Text, chosen, texts_of
from headstart.train.joint.trainer import JointTrainer
from headstart.train.log import Log
from headstart.train.plot import NO_PLOT, plot_losses
from headstart.train.processes import check_alone
from headstart.train.progress import Reporter
from headstart.train.recorded import check_alike, read_recorded
from headstart.train.run_directory import RUN_FILE, check_no_run, make_output
from headstart.train.tensorboard import check_tensorboard
from headstart.train.trainable import check_trainable
from headstart.train.watch import watched

_LOOKED_AT = 120  # held-out answers: enough for figures, seconds to run
_LOOKS = 2
_CHECKPOINT_SECONDS = 120.0


@dataclass(frozen=True)
class _Data:
    """What is trained on, and what is kept from it."""

    texts: list[Text]
    kept: list[Text]
    digest: str
    """Of all answers that were recorded."""


def train_joint(
    model: str,
    output: Path,
    *,
    options: JointOptions,
    device: str | torch.device = "auto",
    judge: Judge | None = None,
    checkpoint_seconds: float = _CHECKPOINT_SECONDS,
) -> JointResult:
    """Train ``model`` and its heads together and write both to ``output``.

    ``judge`` is given the model as it was and the model as it is, at the end, and marks what they make of tasks; the card says how
    many each has solved.

    Raises:
        DataError: there are no recorded answers, too few, or they are another model's.
        HeadsError: there are no heads, or they belong to another model.
        TrainingError: there is a run or a model in ``output`` already, there is no run to resume or it was started with another
            model, heads or answers, peft is missing, the model is quantised or has fewer layers than are to learn, a loss is not
            finite, or this is one of several processes.
        ModelNotFoundError, UnsupportedModelError: the model cannot be had, or not for trees.
    """
    begun = time.perf_counter()
    check_alone("model and heads are trained together")
    if options.tensorboard:
        check_tensorboard()
    reporter, where, run = Reporter(quiet=options.quiet), resolve_device(device), output / "run"
    directory, heads, shards = _given(model, options)
    plan = read_joint_plan(run / RUN_FILE, model, options.identity) if options.resume else None
    if plan is None:
        check_no_run(run)
        make_output(run)
    compute = plan.compute if plan else _compute(options, where)
    backbone, tokenizer, weights = _backbone(model, where, options, DTYPES[compute])
    directory.check_base(backbone.base)
    data = _data(shards, backbone, options, reporter)
    given = f"{weights} {digest_of_heads(heads)} {data.digest}"
    order = RowOrder(data.texts, length=options.length, batch=options.batch, seed=options.seed)
    trainer = JointTrainer(
        backbone,
        heads,
        order,
        options,
        steps=plan.steps if plan else max(1, round(options.epochs * order.per_epoch)),
        by_frequency_V=_by_frequency(heads, data.texts),
    )
    before = look(backbone, trainer.objective, data.kept, options.length)
    check_alike(before.quality.alike, shards, model)
    if plan is None:
        if options.minutes is not None:
            trainer.steps = max(4, int(options.minutes * 60 / trainer.seconds_per_step()))
        plan = JointPlan(model, options.identity, trainer.steps, given, compute)
        plan.save(run / RUN_FILE)
    elif plan.given != given:
        raise TrainingError(
            f"the model, the heads, or the answers in {shards}, are not those that the run in {run} was started with; put them"
            " back, or start anew in an empty directory"
        )
    reporter.say(
        f"{len(data.texts):,} answers, {trainer.order.per_epoch:,} steps an epoch, {trainer.steps:,} steps; perplexity"
        f" {before.quality.perplexity:.4f} before, {worth_of(before, grows=heads.config.kind == 'medusa').line}"
    )
    _train(trainer, plan, data, before, run, options, reporter, checkpoint_seconds)
    result = finish(trainer, model, tokenizer, data.kept, before, output, options, reporter, judge=judge, begun=begun)
    if not plot_losses(Log(run / "log.jsonl").entries(), output / "loss.png"):
        reporter.say(NO_PLOT)
    return result


def _given(model: str, options: JointOptions) -> tuple[HeadsDirectory, MedusaHeads, Path]:
    """The heads to begin with, and where the answers lie."""
    directory = find_heads(model, options.heads)
    if directory is None:
        raise TrainingError(
            f"{model} has no heads yet, and the first stage trains them alone: headstart train {model} --output HEADS. Then name"
            " them with --heads HEADS"
        )
    heads = directory.heads
    if not isinstance(heads, MedusaHeads):
        raise TrainingError(f"heads of kind {directory.config.kind!r} are trained by train-mtp; give medusa or hydra heads")
    place = heads_beside(model) if options.heads == "auto" else Path(options.heads)
    shards = options.shards or Path(place or ".") / "run" / "shards"
    return directory, heads, shards


def _compute(options: JointOptions, device: torch.device) -> str:
    """The format of the passes, by its name in ``DTYPES``."""
    return dtype_name(training_dtype(device)) if options.dtype == "auto" else options.dtype


def _backbone(
    model: str, device: torch.device, options: JointOptions, compute: torch.dtype
) -> tuple[Backbone, PreTrainedTokenizerBase | None, str]:
    """The model, and a digest of what it was before anything was added to it."""
    # what LoRA leaves alone needs no more precision than the passes have; what is trained does
    pretrained, tokenizer, name = load_pretrained(find(model), compute if options.backbone == "lora" else torch.float32, device)
    check_trainable(pretrained, model)
    weights = digest_of_tensors(dict(pretrained.named_parameters()))
    return Backbone(pretrained, name, options, compute), tokenizer, weights


def _data(shards: Path, backbone: Backbone, options: JointOptions, reporter: Reporter) -> _Data:
    facts = backbone.base.facts
    read = read_recorded(shards, hidden_size=facts.hidden_size, vocab_size=facts.vocab_size)
    texts, cut = texts_of(read, options.length)
    if cut:
        reporter.say(f"{cut:,} of the answers are cut or left out: with their prompts they are longer than {options.length} tokens")
    known, aside = split((text.conversation for text in texts), f"in {shards}", "Record more: headstart train")
    kept = chosen(texts, aside)
    step = max(1.0, len(kept) / _LOOKED_AT)
    kept = [kept[int(i * step)] for i in range(min(_LOOKED_AT, len(kept)))]
    data = _Data(chosen(texts, known), kept, digest_of_answers(read))
    if not any(text.answer > 1 for text in data.texts) or not any(text.answer > 1 for text in data.kept):
        raise DataError("all answers are a single token long; there is nothing for heads to guess. Give other data")
    return data


def _by_frequency(heads: MedusaHeads, texts: list[Text]) -> torch.Tensor:
    """Places among the draft ids, the most frequent first."""
    vocab = heads.config.vocab_size
    frequent = frequent_ids([text.ids[text.prompt :] for text in texts], [], vocab, vocab)
    if heads.draft_ids_V is None:
        return frequent
    place = torch.full((vocab,), -1)
    place[heads.draft_ids_V] = torch.arange(len(heads.draft_ids_V))
    places = place[frequent]
    return places[places >= 0]


def _train(
    trainer: JointTrainer,
    plan: JointPlan,
    data: _Data,
    before: Seen,
    run: Path,
    options: JointOptions,
    reporter: Reporter,
    checkpoint_seconds: float,
) -> None:
    path, log = run / "checkpoint.safetensors", Log(run / "log.jsonl")
    load_checkpoint(path, trainer, plan.digest)
    every = max(1, trainer.steps // _LOOKS)
    saved = time.perf_counter()
    board = run / "tensorboard" if options.tensorboard else None
    heads = trainer.heads.config
    with watched(log, reporter, heads=heads.num_heads, steps=trainer.steps, done=trainer.step, tensorboard=board) as watch:
        while trainer.step < trainer.steps:
            report = trainer.train_step()
            watch.step(**asdict(report))
            done = trainer.step == trainer.steps
            if trainer.step % every == 0 and not done:
                now = look(trainer.backbone, trainer.objective, data.kept, trainer.order.length)
                worth, figures = worth_of(now, grows=heads.kind == "medusa"), _compared(before, now)
                watch.evaluation(report.step, top_KT=top_shares(now.guesses.rank_EK), score=worth.score, **figures)
                told = ", ".join(f"{name} {value:.4f}" for name, value in figures.items())
                reporter.say(f"step {trainer.step:,}: loss {report.own:.3f}, heads {report.loss:.3f}; held out {told}")
            if done or time.perf_counter() - saved > checkpoint_seconds:
                save_checkpoint(path, trainer, plan.digest)
                saved = time.perf_counter()


def _compared(before: Seen, now: Seen) -> dict[str, float]:
    first = [top_shares(seen.guesses.rank_EK)[0][0] for seen in (before, now)]
    return {
        "perplexity_change": now.quality.perplexity / before.quality.perplexity - 1,
        "agreement": now.quality.agreement(before.quality),
        "top1_first_head_before": first[0],
        "top1_first_head": first[1],
    }
