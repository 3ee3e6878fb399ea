"""How fast this machine trains, measured on made-up examples before a run is planned."""

import time
from pathlib import Path

import torch

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.models.protocol import BaseModel
from headstart.train.batches import Examples
from headstart.train.loop import Trainer
from headstart.train.plan import Plan
from headstart.train.shards import Shard
from headstart.train.states import ComputedStates

_STEPS = 3


def training_rate(model: BaseModel, config: HeadsConfig, batch: int, soft_targets: float = 0.0, *, computed: int = 0) -> float:
    """Optimizer steps per second, the mean of three after a warm-up. ``computed``, if not 0, is the length of answers whose states
    the base model computes in every step."""
    lengths = [batch + 1] if not computed else [computed] * -(-batch // (computed - 1))
    generator = torch.Generator().manual_seed(0)
    # as uneven as real text: nine tokens out of ten are among the fifth of the vocabulary that is frequent
    tokens = (torch.rand(sum(lengths), generator=generator) ** 16 * config.projected_vocab).long()
    shard = Shard(
        path=Path(),
        metadata={},
        conversation_ids=[0] * len(lengths),
        prompt_lengths=[1] * len(lengths),
        answer_lengths=lengths,
        greedy=[True] * len(lengths),
        kinds=[""] * len(lengths),
        prompt_tokens=tokens[: len(lengths)],
        tokens=tokens,
        hidden_SD=torch.randn(0 if computed else batch, config.hidden_size, generator=generator).to(model.facts.dtype),
    )
    everything = torch.arange(config.projected_vocab)
    heads = MedusaHeads(config, None if config.draft_vocab_size is None else everything)
    plan = Plan("", {}, 1, 1, _STEPS + 1, 1.0)
    trainer = Trainer(
        model,
        heads,
        Examples([shard], {0}, ComputedStates(model, [shard]) if computed else None),
        by_frequency_V=everything,
        plan=plan,
        batch=batch,
        peak_rate=1e-3,
        seed=0,
        soft_targets=soft_targets,
    )
    trainer.train_step()
    begun = time.perf_counter()
    for _ in range(_STEPS):
        trainer.train_step()
    return _STEPS / (time.perf_counter() - begun)
