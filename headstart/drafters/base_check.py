"""Tells whether heads were made for a base model: its size, its vocabulary, and a sample of what its LM head computes."""

import math
from collections.abc import Sequence

import torch

from headstart.drafters.kinds import AnyConfig
from headstart.errors import HeadsError
from headstart.models.protocol import BaseModel

VALUES = 32
"""Numbers in a sample."""
# Rounding to bfloat16 moves the sample by well under 0.01 of its length, 4-bit quantisation by less than 0.1; samples of
# unrelated models are about 1.4 apart.
_TOLERANCE = 0.15


def base_sample(model: BaseModel) -> tuple[float, ...]:
    """Logits of 32 ids spread over the vocabulary for one fixed hidden state of length 1: a fingerprint of the LM head."""
    facts = model.facts
    ids = torch.linspace(0, facts.vocab_size - 1, VALUES, dtype=torch.float64).round().to(torch.int64)
    hidden = torch.sin(torch.arange(1, facts.hidden_size + 1, dtype=torch.float64) * 12.9898)
    # two rows: a product of a single row may take another kernel, and rounding, than all others do
    hidden_BD = (hidden / hidden.norm()).expand(2, -1).to(device=facts.device, dtype=facts.dtype)
    with torch.no_grad():
        logits_BV = model.projection(ids.to(facts.device))(hidden_BD)
    return tuple(round(value, 6) for value in logits_BV[0].double().tolist())


def check_base(config: AnyConfig, sample: Sequence[float] | None, model: BaseModel) -> None:
    """Raises HeadsError unless ``model`` has the sizes in ``config`` and, where a sample was kept, an LM head like it."""
    facts = model.facts
    trained_for = f"the heads were trained for {config.base_model or 'another base model'}"
    for what, theirs, ours in (
        ("hidden size", facts.hidden_size, config.hidden_size),
        ("vocabulary", facts.vocab_size, config.vocab_size),
    ):
        if theirs != ours:
            raise HeadsError(f"{facts.name} has a {what} of {theirs}, {trained_for} with {ours}; use the heads of this model")
    if sample is None:
        return
    distance = math.dist(sample, base_sample(model)) / max(math.hypot(*sample), 1e-30)
    if not distance <= _TOLERANCE:
        raise HeadsError(
            f"{trained_for}, and the LM head of {facts.name} is another one (it differs by {distance:.0%}, expected at most"
            f" {_TOLERANCE:.0%}); use the heads of this model, or train some: headstart train"
        )
