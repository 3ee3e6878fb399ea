"""Time of an epoch of training on stored hidden states, beside the same epoch with the base model run in every step.

    python benchmarks/epoch_time.py --run HEADS --output benchmarks/results/epoch_time.json

``HEADS`` is a directory that ``headstart train`` has written, with recorded answers in ``HEADS/run/shards``. Both trainers take
the very same examples in the same order (whole answers), and take turns of a few steps, so that a machine that slows down slows
both and caches are nearly as warm as in an epoch. An epoch is its number of steps times the median step; the ratio is the median
over turns of the ratio within a turn.
"""

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from setting import finish, progress, spread

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.models.loading import load_model
from headstart.models.protocol import BaseModel
from headstart.train.batches import Examples
from headstart.train.draft_vocab import frequent_ids
from headstart.train.loop import Trainer
from headstart.train.options import TrainOptions
from headstart.train.plan import Plan
from headstart.train.shards import Shard, read_shard, shard_path
from headstart.train.states import ComputedStates

STORED, COMPUTED = "stored", "computed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="a heads directory with run/shards")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--steps", type=int, default=6, help="of each in a turn")
    parser.add_argument("--warm-up", type=int, default=2)
    parser.add_argument("--batch", type=int, default=TrainOptions.batch)
    parser.add_argument("--soft-targets", type=float, default=TrainOptions.soft_targets)
    parser.add_argument("--model", default="bundled")
    parser.add_argument("--dtype", default="bfloat16")
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    args.max_new_tokens = TrainOptions.max_new_tokens
    model, _ = load_model(args.model, dtype=args.dtype, bitwise=False)
    shards = [read_shard(path) for path in found(args.run, args.shards)]
    finish("epoch_time", args, measured(model, shards, args))


def found(run: Path, count: int) -> list[Path]:
    paths = [path for i in range(count) if (path := shard_path(run / "run" / "shards", i)).exists()]
    if not paths:
        raise SystemExit(f"there are no shards in {run / 'run' / 'shards'}; make them by headstart train MODEL --output {run}")
    return paths


def measured(model: BaseModel, shards: list[Shard], args: argparse.Namespace) -> dict[str, Any]:
    trainers = {
        STORED: trainer(model, shards, args, computes=False),
        COMPUTED: trainer(model, shards, args, computes=True),
    }
    trainers[STORED].order = trainers[COMPUTED].order
    seconds: dict[str, list[float]] = {name: [] for name in trainers}
    losses: dict[str, list[float]] = {name: [] for name in trainers}
    for turn in range(args.warm_up + args.turns):
        for name in sorted(trainers, reverse=turn % 2 == 1):
            begun = time.perf_counter()
            losses[name] += [trainers[name].train_step().loss for _ in range(args.steps)]
            if turn >= args.warm_up:
                seconds[name].append((time.perf_counter() - begun) / args.steps)
        progress(f"turn {turn + 1}/{args.warm_up + args.turns}: {', '.join(f'{k} {v[-1]:.2f} s' for k, v in seconds.items() if v)}")
    per_epoch = trainers[STORED].order.per_epoch
    steps = {name: spread(values) for name, values in seconds.items()}
    return {
        "model": args.model,
        "shards": len(shards),
        "positions": len(trainers[STORED].examples),
        "batch": trainers[STORED].order.batch,
        "soft_targets": args.soft_targets,
        "steps_per_epoch": per_epoch,
        "turns": args.turns,
        "steps_a_turn": args.steps,
        "step_seconds": steps,
        "epoch_seconds": {name: round(per_epoch * step["median"], 1) for name, step in steps.items()},
        "computed_over_stored": spread([a / b for a, b in zip(seconds[COMPUTED], seconds[STORED], strict=True)]),
        "largest_loss_difference": max(abs(a - b) for a, b in zip(losses[STORED], losses[COMPUTED], strict=True)),
    }


def trainer(model: BaseModel, shards: list[Shard], args: argparse.Namespace, *, computes: bool) -> Trainer:
    """With the defaults of ``headstart train``, but for what the command line says."""
    facts, options = model.facts, TrainOptions()
    conversations = {number for shard in shards for number in shard.conversation_ids}
    examples = Examples(shards, conversations, ComputedStates(model, shards) if computes else None)
    config = HeadsConfig(
        hidden_size=facts.hidden_size,
        vocab_size=facts.vocab_size,
        num_heads=options.num_heads,
        num_layers=options.num_layers,
        draft_vocab_size=min(options.draft_vocab_size, facts.vocab_size - 1),
        base_model=facts.name,
    )
    answers = [examples.answer(span) for span in examples.spans]
    frequent = frequent_ids(answers, [shard.prompt_tokens for shard in shards], facts.vocab_size, config.projected_vocab)
    draft_ids, place = frequent.sort()
    torch.manual_seed(options.seed)
    return Trainer(
        model,
        MedusaHeads(config, draft_ids),
        examples,
        by_frequency_V=place.argsort(),
        plan=Plan(facts.name, {}, 1, 1, (args.warm_up + args.turns) * args.steps, 1.0),
        batch=args.batch,
        peak_rate=options.lr,
        seed=options.seed,
        soft_targets=args.soft_targets,
    )


if __name__ == "__main__":
    main()
