"""A multi-token training run from text to a model that drafts for itself.

``OUTPUT`` becomes an ordinary model directory (trunk and first head), ``OUTPUT/headstart`` the heads directory of the others.
``OUTPUT/log.jsonl`` holds every step, and ``OUTPUT/run`` what a resumed run needs.
"""

import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headstart.errors import DataError, TrainingError
from headstart.finding_heads import HEADS_FOLDER
from headstart.llm import LLM, load
from headstart.models.dtype import DTYPES, dtype_name, resolve_device, training_dtype
from headstart.models.quiet import no_progress_bars
from headstart.text.tokenizer import Tokenizer
from headstart.train.digest import digest_of_tensors
from headstart.train.finished_heads import finished_heads
from headstart.train.log import Log
from headstart.train.mtp.byte_pairs import learn_tokenizer
from headstart.train.mtp.card import mtp_card
from headstart.train.mtp.checkpoint import load_checkpoint, save_checkpoint
from headstart.train.mtp.corpus import documents
from headstart.train.mtp.evaluation import guesses_on, on_true_text
from headstart.train.mtp.headed_model import HeadedModel, headed
from headstart.train.mtp.measurement import SIZES, measured, own_texts
from headstart.train.mtp.new_model import given_model, new_model
from headstart.train.mtp.options import MtpOptions
from headstart.train.mtp.plan import MtpPlan, read_mtp_plan
from headstart.train.mtp.result import MtpResult
from headstart.train.mtp.stream import held_out, stream_of, texts_in_order
from headstart.train.mtp.trainer import MtpTrainer
from headstart.train.plot import NO_PLOT, plot_losses
from headstart.train.processes import check_alone
from headstart.train.progress import Reporter
from headstart.train.run_directory import RUN_FILE, make_output
from headstart.train.simulation import cross_simulated, joint_counts
from headstart.train.tensorboard import check_tensorboard
from headstart.train.watch import watched
from headstart.tuning.calibration import fit_calibration

LOG = "log.jsonl"
DEFAULT_NODES = 8
PROMPT_TOKENS, PIECES, LEAST_PIECES = 32, 48, 4
"""Pieces of held-out text, each begun with a prompt: one half of the texts that come of it makes the tree, the other is for
measuring."""
TEMPERATURES = (0.0, 1.0)
_SAID = 10  # times in a run that its standing is said
_CHECKPOINT_SECONDS = 120.0


def train_mtp(
    output: Path,
    *,
    options: MtpOptions,
    device: str | torch.device = "auto",
    checkpoint_seconds: float = _CHECKPOINT_SECONDS,
) -> MtpResult:
    """Train a model with ``options.heads`` heads, write it to ``output``, and measure it.

    Raises:
        DataError: the text is missing, malformed or too short.
        TrainingError: there is something in ``output`` already, there is no run to resume or it was started with another text or
            model, ``output`` cannot be written to, a loss is not finite, or this is one of several processes.
        ModelNotFoundError, UnsupportedModelError: the model to continue cannot be had, or not with such heads.
    """
    begun = time.perf_counter()
    check_alone("such models are trained")
    if options.tensorboard:
        check_tensorboard()
    reporter, where, run = Reporter(quiet=options.quiet), resolve_device(device), output / "run"
    plan = read_mtp_plan(run / RUN_FILE, options.identity) if options.resume else None
    if plan is None:
        _make(output)
    texts, kept = held_out(documents(options.text))
    model, tokenizer, end = _model(options, texts, where)
    stream_S = stream_of(texts, Tokenizer(tokenizer), end)
    kept_S = stream_of(kept, Tokenizer(tokenizer), end, most=options.held_out)
    if len(kept_S) < (least := LEAST_PIECES * (options.length + options.heads)):
        raise DataError(f"{len(kept_S)} tokens of text were held out, a twentieth of it; expected at least {least}. Give more text")
    head = headed(model, options.heads - 1, options.head)
    given = f"{digest_of_tensors({'text': stream_S, 'held out': kept_S})} {digest_of_tensors(dict(model.named_parameters()))}"
    if plan is None:
        plan = MtpPlan(options.identity, given, dtype_name(training_dtype(where)))
        make_output(run)
        plan.save(run / RUN_FILE)
    elif plan.given != given:
        raise TrainingError(f"the text, or the model, is not what the run in {run} was started with; put it back, or start anew")
    trainer = MtpTrainer(head, stream_S, options, where, DTYPES[plan.compute])
    reporter.say(f"{len(stream_S):,} tokens of text; {trainer.steps:,} steps, {options.heads} heads")
    log = Log(output / LOG)
    _train(trainer, plan, log, run, options, reporter, checkpoint_seconds)
    _save_model(model, tokenizer, output)
    if not plot_losses(log.entries(), output / "loss.png"):
        reporter.say(NO_PLOT)
    known = on_true_text(head, texts_in_order(kept_S, options.length, options.heads, options.batch))
    result = MtpResult(
        directory=output,
        text_tokens=len(stream_S),
        steps=trainer.steps,
        tokens=trainer.steps * options.batch * options.length,
        operations=trainer.operations,
        next_token_operations=trainer.token_operations(1),
        seconds=time.perf_counter() - begun,
        held_out=known,
    )
    reporter.say(f"the model is in {output}; held-out loss of the next token {known.nats_N[0]:.3f} nats")
    if options.heads > 1:
        result = _with_heads(head, result, kept_S, options, where)
        for found in result.measured:
            reporter.say(found.line)
        true = ", ".join(f"{tokens:.2f} at {nodes} nodes" for nodes, tokens in result.on_true_text.items())
        reporter.say(f"the heads are in {output / HEADS_FOLDER}; on held-out text itself: {true}")
    return result


def _make(output: Path) -> None:
    try:
        output.mkdir(parents=True, exist_ok=True)
        there = sorted(path.name for path in output.iterdir())
    except OSError as error:
        raise TrainingError(f"cannot write to {output}: {error.strerror or error}; choose another output directory") from error
    if (output / "run" / RUN_FILE).exists():
        raise TrainingError(f"there is a run in {output} already; go on with it by --resume, or choose another output directory")
    if taken := [name for name in there if name != "run"]:  # which is there where a run died before it had begun
        raise TrainingError(f"{output} is not empty (it holds {taken[0]}); choose another output directory")


def _model(options: MtpOptions, texts: Sequence[str], device: torch.device) -> tuple[PreTrainedModel, PreTrainedTokenizerBase, int]:
    """Model, tokenizer, and the id that ends a document."""
    if options.model is not None:
        given, tokenizer = given_model(options.model, options.length, device)
        return given, tokenizer, int(tokenizer.eos_token_id)
    learned = learn_tokenizer(texts, options.vocab_size)
    end = int(learned.eos_token_id)
    model: Any = new_model(options, len(learned), end)
    return model.to(device), learned, end


def _train(
    trainer: MtpTrainer, plan: MtpPlan, log: Log, run: Path, options: MtpOptions, reporter: Reporter, checkpoint_seconds: float
) -> None:
    path = run / "checkpoint.safetensors"
    load_checkpoint(path, trainer, plan.digest)
    every = max(1, trainer.steps // _SAID)
    saved = time.perf_counter()
    board = run / "tensorboard" if options.tensorboard else None
    with watched(log, reporter, heads=options.heads, steps=trainer.steps, done=trainer.step, tensorboard=board) as watch:
        while trainer.step < trainer.steps:
            report = trainer.train_step()
            watch.step(**asdict(report))
            done = trainer.step == trainer.steps
            if trainer.step % every == 0 or done:
                each = ", ".join("off" if loss is None else f"{loss:.3f}" for loss in report.loss_K)
                reporter.say(f"step {trainer.step:,}: loss by head {each}")
            if done or time.perf_counter() - saved > checkpoint_seconds:
                save_checkpoint(path, trainer, plan.digest)
                saved = time.perf_counter()
    trainer.end()


def _save_model(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, output: Path) -> None:
    try:
        with no_progress_bars():
            model.save_pretrained(output)
        tokenizer.save_pretrained(output)
    except (OSError, SafetensorError) as error:
        raise TrainingError(f"cannot write the model to {output}: {error}; make room and resume") from error


def _with_heads(head: HeadedModel, result: MtpResult, kept_S: torch.Tensor, options: MtpOptions, device: torch.device) -> MtpResult:
    """Make the tree from one half of the model's own texts, save the heads, and measure on the other half."""
    output, new = result.directory, options.length - PROMPT_TOKENS
    pieces = _pieces(kept_S, options.length)
    prompts, half = [piece[:PROMPT_TOKENS] for piece in pieces], len(pieces) // 2
    plain = load(output, heads=None, drafter="none", device=device)
    written, _ = own_texts(plain, prompts[:half], new, 0.0)
    seen, spans = guesses_on(head, list(zip(prompts[:half], written, strict=True)))
    counts, total = joint_counts(seen.rank_EK, spans)
    true, true_spans = guesses_on(head, [(piece[:PROMPT_TOKENS], piece[PROMPT_TOKENS:]) for piece in pieces])
    simulated = cross_simulated(true, true_spans, SIZES)
    calibration = fit_calibration(seen.log_q_EKR, seen.rank_EK.long())
    directory = finished_heads(head.heads(output.name), plain.model, counts, total, calibration=calibration, nodes=DEFAULT_NODES)
    directory.save_pretrained(output / HEADS_FOLDER)  # before the hours of a large model's measurement; the figures follow
    llm = LLM(plain.model, plain.tokenizer, heads=directory, drafter="mtp" if options.head == "layer" else "medusa")
    result = replace(
        result,
        measured=[measured(llm, prompts[half:], new, temperature) for temperature in TEMPERATURES],
        on_true_text={nodes: each.grown for nodes, each in simulated.items()},
    )
    directory.tree_file.predicted.update(result.to_dict())
    directory.card = mtp_card(directory.heads.num_parameters, result, options)
    directory.save_pretrained(output / HEADS_FOLDER)
    return result


def _pieces(kept_S: torch.Tensor, length: int) -> list[list[int]]:
    """Pieces of the held-out text, evenly spread over it."""
    count = min(PIECES, len(kept_S) // length)
    starts = torch.linspace(0, len(kept_S) - length, count).long().tolist()
    return [kept_S[start : start + length].tolist() for start in starts]
