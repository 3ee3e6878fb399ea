"""The model card: what was trained, on what, and what was measured."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headstart.drafters.heads import MedusaHeads
from headstart.train.accuracy import TOPS, shown
from headstart.train.decoded import Decoded
from headstart.train.evaluation import SIZES, Evaluation
from headstart.train.options import TrainOptions


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What a run was."""

    base_model: str
    answers: int
    tokens: int
    examples: int
    steps: int
    best_step: int
    epochs: float
    seconds: float
    rows: str = ""
    """The account of the data's rows, in a line."""


def model_card(heads: MedusaHeads, facts: Facts, result: Evaluation, options: TrainOptions, decoded: Sequence[Decoded] = ()) -> str:
    """Markdown with the hub's header. Every figure says what it was measured on."""
    config = heads.config
    vocab = f"{config.draft_vocab_size:,} frequent tokens" if config.draft_vocab_size else "the whole vocabulary"
    blocks = f"{config.num_layers} {config.block} block(s) each"
    rank = f" (rank {config.rank})" if config.projection == "low-rank" else ""
    head = f"{config.num_heads} heads, {blocks}, {config.projection} projection{rank} over {vocab}"
    root = ", reading the root's embedding" if config.condition_on_root else ""
    if config.kind == "hydra":
        root += " and those of the candidates before their own on the path"
    on_hub = "/" in facts.base_model and not facts.base_model.startswith(("/", "."))
    return f"""---
library_name: headstart
tags: [{config.kind}, speculative-decoding]
{f"base_model: {facts.base_model}" if on_hub else "# the base model is not on the hub"}
---

# {config.kind.capitalize()} heads for {facts.base_model}

Draft heads for Headstart. They guess the base model's next tokens and the base model checks the guesses, so its text is
what it would have been without them.

- {head}{root}; {heads.num_parameters:,} parameters
- Training data: {_source(options)}. {facts.answers:,} answers trained on ({facts.examples:,} positions), out of
  {facts.tokens:,} answer tokens{f"; {facts.rows}" if facts.rows else ""}
- Target: {_target(options)}
- {facts.steps:,} steps of up to {options.batch:,} positions ({facts.epochs:.2f} epochs), AdamW, peak learning rate {options.lr:g},
  seed {options.seed}. The heads are those of step {facts.best_step:,}, the best held-out evaluation
- {facts.seconds / 60:.1f} minutes in the process that finished the run

## Measured

On {result.conversations:,} conversations that were held out of training ({result.answers:,} answers, {result.examples:,}
positions). The draft vocabulary, chosen without them, covers {result.coverage:.1%} of their tokens.

How often the right token is among a head's first guesses:

| head | {" | ".join(f"top {top}" for top in TOPS)} |
| --- |{" --- |" * len(TOPS)}
{_rows([str(k + 1), *map(shown, top_T)] for k, top_T in enumerate(result.top_KT))}

Tokens per step by tree size, the root included. Predicted: the mean over all positions of greedy answers (of all answers
where none is greedy), with a static tree made from the same positions. Simulated: greedy answers decoded step by step, each
half of the conversations with a static tree made from the other half, or with a tree grown anew each step from the heads'
probabilities, calibrated on the other half (over answers with {result.grown_examples:,} positions).

| nodes | predicted, static | simulated, static | simulated steps | simulated, grown |
| --- | --- | --- | --- | --- |
{_rows(_worth(result, nodes) for nodes in SIZES)}

{_decoded(decoded)}

These conversations are like those trained on. Other prompts can give fewer tokens per step; measure on your own.
"""


def _decoded(decoded: Sequence[Decoded]) -> str:
    if not decoded:
        return "Not measured by decoding: no held-out answer was longer than a token."
    each = "; ".join(one.line for one in decoded)
    return f"Measured by decoding held-out prompts greedily with the finished heads, tokens per step: {each}."


def _worth(result: Evaluation, nodes: int) -> list[str]:
    if nodes not in result.simulated:
        return [str(nodes), f"{result.predicted[nodes]:.2f}", "not measured", "0", "not measured"]
    static, steps = result.simulated[nodes], result.simulated_steps[nodes]
    grown = f"{result.grown[nodes]:.2f}" if nodes in result.grown else "not measured"
    return [str(nodes), f"{result.predicted[nodes]:.2f}", f"{static:.2f}", f"{steps:,}", grown]


def _rows(rows: Iterable[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _target(options: TrainOptions) -> str:
    if not options.soft_targets:
        return "the token that the base model chose"
    rest = f"{1 - options.soft_targets:.0%} the token that the base model chose, " if options.soft_targets < 1 else ""
    return f"{rest}{options.soft_targets:.0%} the distribution that it chose from"


def _source(options: TrainOptions) -> str:
    if options.shards is not None:
        return "answers that another run had recorded"
    if not options.data:
        return "none was given; the base model wrote questions and answers itself (self-distillation)"
    names = ", ".join(path.name for path in options.data)
    if options.keep_answers:
        return f"{names}, answers as given"
    if options.endpoint_model is not None:
        return f"prompts of {names}, answers written by {options.endpoint_model} at an endpoint"
    return f"prompts of {names}, answers written by the base model (self-distillation)"
