"""The model cards of a joint run: what was trained, what it gained, and what it cost the model."""

from collections.abc import Iterable

from headstart.drafters.heads import MedusaHeads
from headstart.train.accuracy import shown
from headstart.train.joint.options import JointOptions
from headstart.train.joint.result import SIZES, JointResult, Worth


def joint_card(heads: MedusaHeads, base: str, result: JointResult, options: JointOptions) -> str:
    """Markdown with the hub's header, for the model and for its heads. Every figure says what it was measured on."""
    which = "all linear layers" if options.layers is None else f"the linear layers of the last {options.layers} layers"
    how = f"LoRA (rank {options.rank}, alpha {options.alpha:g}, dropout {options.dropout:g}) on {which}, merged"
    trained = "all of them trained" if options.layers is None else f"the last {options.layers} of them trained"
    held = "the untouched model's distribution" if options.target == "distill" else "the answers' tokens"
    on_hub = "/" in base and not base.startswith(("/", "."))
    kind = heads.config.kind
    return f"""---
library_name: headstart
tags: [{kind}, speculative-decoding]
{f"base_model: {base}" if on_hub else "# the base model is not on the hub"}
---

# {base}, trained together with {kind.capitalize()} heads

This is another model than {base}: its text is not the same. The heads beside it ({heads.num_parameters:,} parameters) guess
*this* model's next tokens.

- Layers: {how if options.backbone == "lora" else trained}; embeddings and LM head are the base model's
- The model is held to {held}; the loss of head k counts {options.head_weight:g} * 0.8^k for it in the end
- {result.steps:,} steps of {options.batch} rows of up to {options.length} tokens ({result.tokens:,} tokens, prompts included),
  AdamW, peak learning rate {options.lr:g} for the model and {options.lr * options.heads_rate:g} for the heads, seed {options.seed}
- {result.seconds / 60:.1f} minutes in the process that finished the run

## Quality

On answers that the base model wrote itself, in conversations that were held out of training ({result.judged:,} tokens):

| | {base} | this model |
| --- | --- | --- |
| perplexity | {result.perplexity_before:.4f} | {result.perplexity:.4f} ({result.perplexity_change:+.2%}) |
| likeliest token the same | | {result.agreement:.2%} |
{_tasks(result, base)}
## Speed

Tokens per step by tree size, the root included: greedy answers to held-out prompts, each model's own, decoded step by step. Each
half of the conversations is decoded with what was learned on the other: a static tree, or one grown anew each step.

| nodes | static before | static | grown before | grown |
| --- | --- | --- | --- | --- |
{_rows([str(nodes), *(_figure(figures, nodes) for figures in _figures(result))] for nodes in SIZES)}

Before: the heads as they were, on {base} ({_based(result.before)}). Now: {_based(result.after)}.
{_decoded(result)}
| head | top 1 before | top 1 |
| --- | --- | --- |
{_rows([str(k + 1), shown(before), shown(after)] for k, (before, after) in enumerate(_tops(result)))}

These conversations are like those trained on. Other prompts can give fewer tokens per step; measure on your own.
"""


def _tasks(result: JointResult, base: str) -> str:
    if not result.tasks:
        return ""
    rows = _rows(
        [kind, str(each.tasks), str(each.before), f"{each.after} ({each.gained} gained, {each.lost} lost)"]
        for kind, each in result.tasks.items()
    )
    return f"""
Tasks solved, asked once, greedily (so few tell large losses alone; `headstart bench DIR --base {base}` says more):

| | tasks | {base} | this model |
| --- | --- | --- | --- |
{rows}
"""


def _decoded(result: JointResult) -> str:
    if not result.decoded:
        return ""
    return f"Decoded by this model with the new heads, tokens per step: {'; '.join(each.line for each in result.decoded)}.\n"


def _figures(result: JointResult) -> tuple[dict[int, float], ...]:
    return result.before.static, result.after.static, result.before.grown, result.after.grown


def _figure(by_nodes: dict[int, float], nodes: int) -> str:
    return f"{by_nodes[nodes]:.2f}" if nodes in by_nodes else "not measured"


def _tops(result: JointResult) -> list[tuple[float, float]]:
    return list(zip(result.before.top1_K, result.after.top1_K, strict=True))


def _based(worth: Worth) -> str:
    return f"{worth.answers} answers, {worth.steps:,} steps at 8 nodes"


def _rows(rows: Iterable[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
