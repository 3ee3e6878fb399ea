"""A training run from nothing to a heads directory: plan, data, training, evaluation, card.

``OUTPUT/run`` holds what a resumed run needs: ``run.json`` (the plan), ``shards/``, ``checkpoint.safetensors``, ``log.jsonl``, and
``account.json``, which says what became of the rows.
"""

import json
import time
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from headstart.drafters.heads import MedusaHeads
from headstart.errors import DataError
from headstart.models.dtype import dtype_name
from headstart.models.protocol import BaseModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.account import Account
from headstart.train.accuracy import shown
from headstart.train.atomic_file import write_atomically
from headstart.train.batches import Examples
from headstart.train.card import Facts, model_card
from headstart.train.checkpoint import Standing, load_checkpoint, save_checkpoint
from headstart.train.decoded import decode, held_out_prompts
from headstart.train.draft_vocab import frequent_ids
from headstart.train.evaluation import Evaluation, evaluate
from headstart.train.finished_heads import finished_heads
from headstart.train.generation import Source, fill, settle
from headstart.train.held_out import split
from headstart.train.log import Log
from headstart.train.loop import Trainer
from headstart.train.options import TrainOptions
from headstart.train.output_matrix import shared_matrix
from headstart.train.plan import Plan, check_same_run, read_plan
from headstart.train.planning import decided, heads_config, identity_of
from headstart.train.plot import NO_PLOT, plot_losses
from headstart.train.processes import ALONE, Processes
from headstart.train.progress import Reporter
from headstart.train.projections import check_projection
from headstart.train.recorded import Recorded, check_given, enough, read_recorded
from headstart.train.run_directory import RUN_FILE
from headstart.train.shards import CACHE, NO_STATES, Shard
from headstart.train.sources import Opened, open_source
from headstart.train.state_cache import Stateless
from headstart.train.states import ComputedStates
from headstart.train.tensorboard import check_tensorboard
from headstart.train.watch import watched

_EVALUATIONS_AN_EPOCH = 2
_CHECKPOINT_SECONDS = 120.0


@dataclass(frozen=True)
class TrainResult:
    """What a run came to."""

    directory: Path
    evaluation: Evaluation
    tokens: int
    steps: int
    seconds: float


def train(
    model: BaseModel,
    tokenizer: Tokenizer,
    output: Path,
    *,
    options: TrainOptions,
    checkpoint_seconds: float = _CHECKPOINT_SECONDS,
    processes: Processes = ALONE,
) -> TrainResult:
    """Train heads for ``model`` and write a heads directory to ``output`` (as in Medusa-1 the base model stays as it is).

    Raises:
        DataError: given data are malformed, there are too few of them, or recorded answers are missing or another model's.
        TrainingError: there is a run already, there is none to resume or it was started with other answers, the disk is full or
            too small for the states, low-rank projections were asked for and the model caps its logits, or a loss is not finite.
        ChatTemplateError: the tokenizer has no chat template and no data were given.
    """
    begun = time.perf_counter()
    reporter = Reporter(quiet=options.quiet)
    run = output / "run"
    check_projection(options.projection, model.facts.softcap)
    if options.tensorboard:
        check_tensorboard()
    opened = open_source(model, tokenizer, options, run)
    plan = decided(model, opened, run, options, reporter, processes=processes.count)
    shards, account = _data(opened, plan, run, options, reporter)
    processes.meet()
    trainer, kept = _trainer(model, shards, plan, options, processes)
    log = Log(run / "log.jsonl")
    standing = _train(trainer, kept, run, log, options, reporter, checkpoint_seconds)
    trainer.heads.load_state_dict(standing.best)
    result, seen = evaluate(trainer, kept)
    seconds = time.perf_counter() - begun
    facts = Facts(
        base_model=model.facts.name,
        answers=len(trainer.examples.spans),
        tokens=sum(len(shard.tokens) for shard in shards),
        examples=len(trainer.examples),
        steps=trainer.step,
        best_step=standing.best_step,
        epochs=trainer.step / trainer.order.per_epoch,
        seconds=seconds,
        rows=account.line,
    )
    directory = finished_heads(
        trainer.heads, model, seen.counts, seen.total, calibration=seen.calibration, predicted=result.to_dict()
    )
    decoded = decode(
        model,
        directory,
        held_out_prompts(shards, {span.conversation for span in kept.spans}),
        stop_ids=opened.stop_ids,
        max_new_tokens=options.max_new_tokens,
    )
    if decoded:
        reporter.say(f"decoded, tokens per step: {'; '.join(each.line for each in decoded)}")
    directory.tree_file = replace(
        directory.tree_file, predicted={**result.to_dict(), "decoded": [each.to_dict() for each in decoded]}
    )
    directory.card = model_card(trainer.heads, facts, result, options, decoded)
    directory.save_pretrained(output)
    if not plot_losses(log.entries(), output / "loss.png"):
        reporter.say(NO_PLOT)
    reporter.say(f"heads are in {output}: {_line(result)}")
    return TrainResult(output, result, facts.tokens, trainer.step, seconds)


def follow(model: BaseModel, output: Path, *, options: TrainOptions, processes: Processes) -> None:
    """What all processes but the first do: wait for its data, then take their part of each step. They write nothing."""
    run = output / "run"
    processes.meet()
    plan = read_plan(run / RUN_FILE)
    check_same_run(
        plan, model.facts.name, identity_of(model, options), run, cache=options.cache, dtype=dtype_name(model.facts.dtype)
    )
    facts, where = model.facts, options.shards or run / "shards"
    read = read_recorded(where, hidden_size=facts.hidden_size, vocab_size=facts.vocab_size, states=plan.cache == "disk")
    shards = enough(read, plan.tokens)
    check_given(shards, plan, run)
    trainer, _ = _trainer(model, shards, plan, options, processes)
    load_checkpoint(run / "checkpoint.safetensors", trainer)
    while trainer.step < trainer.steps and not processes.told(False):
        trainer.train_step()


def _data(opened: Opened, plan: Plan, run: Path, options: TrainOptions, reporter: Reporter) -> tuple[list[Shard], Account]:
    source = opened.source
    if isinstance(source, Recorded):
        shards = enough(source.shards, plan.tokens)
    else:
        shards = _made(source, opened.metadata, plan, run, options, reporter)
    account = settle(shards, source.total, opened.lost)
    reporter.say("\n  ".join([account.line, *account.named]))
    write_atomically(run / "account.json", (json.dumps(account.to_dict(), indent=2, ensure_ascii=False) + "\n").encode())
    return shards, account


def _made(
    source: Source, metadata: dict[str, str], plan: Plan, run: Path, options: TrainOptions, reporter: Reporter
) -> list[Shard]:
    """The run's own shards, with a bar while they are made."""
    if plan.cache == NO_STATES:
        source, metadata = Stateless(source), {**metadata, CACHE: NO_STATES}
    total = plan.tokens if source.total is None or options.tokens or options.minutes else None
    with reporter.bar("answer tokens", total) as bar:
        shown = 0

        def on_tokens(count: int) -> None:
            nonlocal shown
            shown += count
            bar.advance(count)

        def on_shard(tokens: int) -> None:
            nonlocal shown
            bar.advance(tokens - shown)  # a shard that was there already has shown nothing yet
            shown = 0

        return fill(
            run / "shards",
            source,
            tokens=plan.tokens,
            shard_size=plan.shard_size,
            metadata=metadata,
            on_tokens=on_tokens,
            on_shard=on_shard,
        )


def _trainer(
    model: BaseModel, shards: list[Shard], plan: Plan, options: TrainOptions, processes: Processes
) -> tuple[Trainer, Examples]:
    """The trainer, and the examples that are kept from it."""
    numbers = (number for shard in shards for number in shard.conversation_ids)
    computed = plan.cache == NO_STATES
    examples, kept = (
        Examples(shards, which, ComputedStates(model, shards) if computed else None)
        for which in split(numbers, "with an answer", "Give more data or more minutes")
    )
    if not len(examples) or not len(kept):
        raise DataError("all answers are a single token long; there is nothing for heads to guess. Give other data")
    config = heads_config(model, options)
    frequent = frequent_ids(
        [examples.answer(span) for span in examples.spans],
        [shard.prompt_tokens for shard in shards],
        model.facts.vocab_size,
        config.projected_vocab,
    )
    draft_ids, place = frequent.sort()
    by_frequency = place.argsort()  # places among the ascending ids, the most frequent first
    torch.manual_seed(options.seed)
    heads = MedusaHeads(config, None if config.draft_vocab_size is None else draft_ids)
    if config.projection == "own":
        heads.copy_lm_head(shared_matrix(model, heads.draft_ids_V, torch.float32).weight_VD.cpu())
    trainer = Trainer(
        model,
        heads,
        examples,
        by_frequency_V=by_frequency,
        plan=plan,
        batch=options.batch,
        peak_rate=options.lr,
        seed=options.seed,
        soft_targets=options.soft_targets,
        processes=processes,
    )
    return trainer, kept


def _train(
    trainer: Trainer,
    kept: Examples,
    run: Path,
    log: Log,
    options: TrainOptions,
    reporter: Reporter,
    checkpoint_seconds: float,
) -> Standing:
    """Train to the end or until evaluations stop to gain; evaluations happen at fixed steps, checkpoints at any time."""
    path = run / "checkpoint.safetensors"
    standing = load_checkpoint(path, trainer)
    every = max(1, trainer.order.per_epoch // _EVALUATIONS_AN_EPOCH)
    saved = time.perf_counter()
    board = run / "tensorboard" if options.tensorboard else None
    heads = trainer.heads.config.num_heads
    with watched(log, reporter, heads=heads, steps=trainer.steps, done=trainer.step, tensorboard=board) as watch:
        while trainer.step < trainer.steps and not trainer.processes.told(standing.without_gain >= options.patience):
            report = trainer.train_step()
            watch.step(
                report.step,
                trainer.order.batch,
                loss=report.loss,
                loss_K=report.loss_K,
                rate=report.rate,
                norm=report.grad_norm,
            )
            due = trainer.step % every == 0 or trainer.step == trainer.steps
            if due:
                result, _ = evaluate(trainer, kept, last=False)
                standing.consider(trainer, result.score)
                watch.evaluation(report.step, score=result.score, **result.to_dict())
                reporter.say(f"step {trainer.step:,}: loss {report.loss:.3f}, held out {_line(result)}")
            if due or time.perf_counter() - saved > checkpoint_seconds:
                save_checkpoint(path, trainer, standing)
                saved = time.perf_counter()
    return standing


def _line(result: Evaluation) -> str:
    first = ", ".join(shown(top_T[0]) for top_T in result.top_KT)
    worth = ", ".join(f"{result.predicted[nodes]:.2f} at {nodes} nodes" for nodes in (8, 16))
    return f"top-1 {first}; predicted tokens per step {worth} (n = {result.examples:,})"
