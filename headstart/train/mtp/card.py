"""The model card of heads that were trained together with their model."""

from headstart.train.mtp.corpus import name_of
from headstart.train.mtp.options import MtpOptions
from headstart.train.mtp.result import MtpResult

_KINDS = {
    "layer": "a transformer layer each, on the output of the model's trunk (all its layers but the last, which is the first head)",
    "residual": "a residual block each, on the model's last hidden state",
    "linear": "a linear map each, on the model's last hidden state",
}


def mtp_card(num_parameters: int, result: MtpResult, options: MtpOptions) -> str:
    """Markdown with the hub's header. Every figure says what it was measured on."""
    origin = "trained from scratch" if options.model is None else f"continued from {options.model}"
    weights = ", ".join(f"{weight:g}" for weight in options.weights)
    columns = [found.tokens_per_step for found in result.measured] + [result.on_true_text]
    sizes = "\n".join(
        f"| {' | '.join([str(nodes), *(f'{column[nodes]:.2f}' for column in columns if column)])} |" for nodes in columns[0]
    )
    names = [f"temperature {found.temperature:g}" for found in result.measured] + ["held-out text"] * bool(result.on_true_text)
    repeats = " and ".join(f"{found.distinct:.0%} at temperature {found.temperature:g}" for found in result.measured)
    greedy = result.measured[0]
    same = all(found.same == found.texts for found in result.measured)
    known = result.held_out
    heads = "\n".join(
        f"| {n + 1} | {nats:.3f} | {top:.1%} |" for n, (nats, top) in enumerate(zip(known.nats_N, known.top_N, strict=True))
    )
    return f"""---
library_name: headstart
tags: [multi-token-prediction, speculative-decoding]
---

# Multi-token prediction heads for the model beside them

The model was {origin} with {options.heads} output heads on one trunk (Gloeckle et al. 2024). The first head is the model's own; the
others guess its next tokens, and the model checks the guesses, so that its text is what it would be without them.

- {options.heads - 1} heads here: {_KINDS[options.head]}; {num_parameters:,} parameters
- Text: {name_of(options.text)}, {result.text_tokens:,} tokens of it to train on
- {result.steps:,} steps of {options.batch} x {options.length} tokens ({result.tokens:,} tokens), AdamW, peak learning rate
  {options.lr:g}, seed {options.seed}; head weights {weights}; schedule "{options.schedule}"; {result.operations:.3g} operations

## Measured

On {known.positions:,} positions of text that was held out of training, each head's loss in nats and how often its first guess is
right; head n is asked for the n-th token after a position:

| head | loss | top 1 |
| --- | --- | --- |
{heads}

Tokens per step by tree size, the root included. The model wrote {greedy.texts} texts of its own ({greedy.written:,} tokens
together), each after a piece of held-out text; {"all have" if same else "NOT all have"} the same ids as without heads. {repeats} of
the runs of four tokens are new in their text: a model that repeats itself is easy to guess. The last column is simulated: as if
the model had written the held-out text itself. Tree and calibration were made from as many other texts.

| nodes | {" | ".join(names)} |
| --- |{" --- |" * len(names)}
{sizes}
"""
