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

_STEPS = 3


def training_rate(model: BaseModel, config: HeadsConfig, batch: int, soft_targets: float = 0.0) -> float:
    """Optimizer steps per second, the mean of three after a warm-up."""
    generator = torch.Generator().manual_seed(0)
    # as uneven as real text: nine tokens out of ten are among the fifth of the vocabulary that is frequent
    tokens = (torch.rand(batch + 1, generator=generator) ** 16 * config.projected_vocab).long()
    shard = Shard(
        path=Path(),
        metadata={},
        conversation_ids=[0],
        prompt_lengths=[0],
        answer_lengths=[batch + 1],
        greedy=[True],
        kinds=[""],
        prompt_tokens=tokens[:0],
        tokens=tokens,
        hidden_SD=torch.randn(batch, config.hidden_size, generator=generator).to(model.facts.dtype),
    )
    everything = torch.arange(config.projected_vocab)
    heads = MedusaHeads(config, None if config.draft_vocab_size is None else everything)
    plan = Plan("", {}, 1, 1, _STEPS + 1, 1.0)
    trainer = Trainer(
        model,
        heads,
        Examples([shard], {0}),
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
