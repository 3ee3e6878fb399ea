"""The end of a joint run: the merged model and its heads on disk, and what both are worth."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedTokenizerBase

from headstart.drafters.heads import MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.errors import TrainingError
from headstart.finding_heads import HEADS_FOLDER
from headstart.llm import LLM, load
from headstart.models.dtype import resolve_dtype
from headstart.train.atomic_file import write_atomically
from headstart.train.decoded import PROMPTS, Decoded, decode
from headstart.train.finished_heads import finished_heads
from headstart.train.joint.card import joint_card
from headstart.train.joint.options import JointOptions
from headstart.train.joint.quality import Seen, look
from headstart.train.joint.result import JointResult, worth_of
from headstart.train.joint.tasks import Judge, compared
from headstart.train.joint.texts import Text
from headstart.train.joint.trainer import JointTrainer
from headstart.train.progress import Reporter
from headstart.train.simulation import joint_counts
from headstart.tuning.calibration import fit_calibration


def finish(
    trainer: JointTrainer,
    base: str,
    tokenizer: PreTrainedTokenizerBase | None,
    kept: Sequence[Text],
    before: Seen,
    output: Path,
    options: JointOptions,
    reporter: Reporter,
    *,
    judge: Judge | None,
    begun: float,
) -> JointResult:
    """Merge, write the model, let it answer the held-out prompts, make the heads' tree from that, and say what all is worth.

    Args:
        base: the name of the model as it was before.
        kept: held-out answers, ``before`` being what model and heads thought of them before training.
        judge: marks a model's answers to tasks.
        begun: when training began in this process, by ``time.perf_counter``.

    Raises:
        TrainingError: the model or its card cannot be written, or all its answers are a single token long.
    """
    seconds = time.perf_counter() - begun
    backbone, heads = trainer.backbone, trainer.heads.eval()
    used = resolve_dtype(options.dtype, backbone.device)  # the format that the model is used in, whatever it was trained in
    backbone.save(output, tokenizer, used)
    grows = heads.config.kind == "medusa"
    merged = look(backbone, trainer.objective, kept, options.length)
    loaded: dict[str, Any] = {"heads": None, "drafter": "none", "device": backbone.device, "dtype": used, "bitwise": False}
    llm = load(output, **loaded)
    asked = [text for text in kept if text.greedy] or list(kept)
    longest = max(text.answer for text in kept)
    own = _own_texts(llm, asked, longest, options.length)
    if all(text.answer < 2 for text in own):
        raise TrainingError(
            f"the trained model, which is in {output}, answers every held-out prompt with a single token, so that there is nothing"
            " to make a tree from. Train with a lower --lr or fewer steps"
        )
    seen = look(backbone, trainer.objective, own, options.length)
    directory = _directory(heads, seen, llm, output.name)
    directory.save_pretrained(output / HEADS_FOLDER)  # before all that only measures; the figures follow
    result = JointResult(
        directory=output,
        steps=trainer.step,
        tokens=sum(len(text.ids) - 1 for step in range(trainer.step) for row in trainer.order[step] for text in row),
        seconds=seconds,
        perplexity_before=before.quality.perplexity,
        perplexity=merged.quality.perplexity,
        agreement=merged.quality.agreement(before.quality),
        judged=len(before.quality.nats_A),
        before=worth_of(before, grows=grows),
        after=worth_of(seen, grows=grows),
        decoded=_decoded(llm, directory, asked, longest),
        tasks={} if judge is None else compared(judge(load(base, **loaded)), judge(llm)),
    )
    directory.card = joint_card(heads, base, result, options)
    directory.tree_file = replace(directory.tree_file, predicted=result.to_dict())
    directory.save_pretrained(output / HEADS_FOLDER)
    write_atomically(output / "README.md", directory.card.encode())
    reporter.say(
        f"model and heads are in {output}: perplexity {result.perplexity_change:+.2%}, likeliest token the same"
        f" {result.agreement:.2%} (n = {result.judged:,}); before {result.before.line}; now {result.after.line}"
    )
    for line in (*(each.line for each in result.decoded), *(f"{kind}: {each.line}" for kind, each in result.tasks.items())):
        reporter.say(f"  {line}")
    return result


def _own_texts(llm: LLM, asked: Sequence[Text], longest: int, length: int) -> list[Text]:
    """The same prompts with this model's greedy answers."""
    outs = llm.generate([text.ids[: text.prompt].tolist() for text in asked], max_new_tokens=longest, temperature=0.0)
    own = []
    for text, out in zip(asked, outs, strict=True):
        ids = torch.cat([text.ids[: text.prompt], torch.tensor(list(out.token_ids), dtype=torch.int64)])[: length + 1]
        own.append(replace(text, ids=ids, states_SD=None, greedy=True))
    return own


def _decoded(llm: LLM, directory: HeadsDirectory, asked: Sequence[Text], longest: int) -> list[Decoded]:
    """A few of the prompts, evenly taken."""
    step = max(1.0, len(asked) / PROMPTS)
    chosen = [asked[int(i * step)] for i in range(min(PROMPTS, len(asked)))]
    end_of_turn = frozenset[int]() if llm.tokenizer is None else llm.tokenizer.end_of_turn_ids
    return decode(
        llm.model,
        directory,
        [text.ids[: text.prompt].tolist() for text in chosen],
        stop_ids=frozenset(llm.model.facts.eos_ids) | end_of_turn,
        max_new_tokens=longest,
    )


def _directory(heads: MedusaHeads, seen: Seen, llm: LLM, name: str) -> HeadsDirectory:
    """The heads with a tree made from what they guess in their model's own answers."""
    counts, total = joint_counts(seen.guesses.rank_EK, seen.spans)
    heads.config = replace(heads.config, base_model=name)
    calibration = fit_calibration(seen.guesses.log_q_EKR, seen.guesses.rank_EK.long())
    return finished_heads(heads, llm.model, counts, total, calibration=calibration)
