"""The engine with its automatic budget against plain decoding in the same engine, for several numbers of texts at once.

    python benchmarks/batch_sizes.py --prompts question.jsonl --output benchmarks/results/batch_sizes.json

Where the heads were not tuned on this machine, they are first, in memory (minutes; ``headstart tune`` does it for good). Each batch
is decoded both ways before the next one, in alternating order; steps count while all rows of the batch run. The budget lives on
from batch to batch, as in a server. The last line printed is one JSON object.
"""

import argparse
from typing import Any

from setting import Setting, finish, parser, progress, setting, spread

from headstart.drafters.named import named_drafters
from headstart.engine.budget import AutomaticBudget
from headstart.engine.engine import Engine
from headstart.engine.tuned_budget import tuned_budgets
from headstart.models.threads import cpu_threads
from headstart.sampling.noise import fold
from headstart.sampling.params import SamplingParams
from headstart.tuning.batch_run import BatchRun, decode_batch, rate
from headstart.tuning.tune import Tuning
from headstart.tuning.tune_options import TuneOptions

SLOWER = 0.03
"""More than this much slower than plain decoding is a failure."""


def main() -> None:
    words = parser(__doc__, limit=64, tokens=96)
    words.add_argument("--batch", type=int, nargs="*", default=[1, 2, 4, 8, 16, 32])
    words.add_argument("--repeats", type=int, default=8, help="batches of each size")
    words.add_argument("--drafter", default="combined", choices=["combined", "medusa", "medusa-static"])
    words.add_argument("--temperature", type=float, default=0.0)
    words.add_argument("--max-nodes", type=int, default=16, help="the largest tree that tuning looks at")
    words.add_argument("--thorough", action="store_true", help="tune with all sizes and repeats")
    args = words.parse_args()
    with cpu_threads(None):
        finish("batch_sizes", args, measured(setting(args), args))


def measured(here: Setting, args: argparse.Namespace) -> dict[str, Any]:
    budget = budget_for(here, args)
    params = SamplingParams(temperature=args.temperature)
    engine = Engine(here.model, named_drafters(here.model, here.heads), budgets={args.drafter: budget})

    def decode(name: str, batch: list[Any], tokens: int, seed: int) -> BatchRun:
        # no stop ids: all texts are equally long, so that most steps have all rows
        return decode_batch(engine, batch, tokens, frozenset(), drafter=name, nodes=None, params=params, seed=seed)

    names = ["none", args.drafter]
    for name in names:  # warm up
        decode(name, here.prompts[:1], 8, 0)
    sizes = {}
    for rows in args.batch:
        pairs = []
        for repeat in range(args.repeats):
            batch = [here.prompts[(repeat * rows + i) % len(here.prompts)] for i in range(rows)]
            order = names if repeat % 2 else names[::-1]
            runs = {name: decode(name, batch, args.max_new_tokens, fold(rows, repeat)) for name in order}
            pairs.append((runs["none"], runs[args.drafter]))
            progress(f"{rows} at once, {repeat + 1}/{args.repeats}: {rate([runs[args.drafter]]) / rate([runs['none']]):.3f}")
        sizes[rows] = of_size(pairs, rows, budget)
    return {
        "drafter": args.drafter,
        "temperature": args.temperature,
        "prompts": len(here.prompts),
        "tuned_seconds": {rows: [round(x, 5) for x in times] for rows, times in table_times(budget).items()},
        "tuned_nodes": list(budget.sizes),
        "batch": sizes,
        "never_slower_than": 1 - SLOWER,
        "holds": all(found["ratio"] >= 1 - SLOWER for found in sizes.values()),
    }


def budget_for(here: Setting, args: argparse.Namespace) -> AutomaticBudget:
    found = tuned_budgets(here.heads, here.model, None).get(args.drafter)
    if isinstance(found, AutomaticBudget):
        return found
    options = TuneOptions(
        batch=tuple(args.batch), max_nodes=args.max_nodes, temperature=args.temperature, tokens=64, quick=not args.thorough
    )
    tuning = Tuning(here.model, here.heads, here.prompts, options=options, stop_ids=here.stop_ids, say=progress)
    tuned = tuning.choose().tuned
    return AutomaticBudget(tuned.table("medusa-static" if args.drafter == "medusa-static" else "medusa"))


def table_times(budget: AutomaticBudget) -> dict[int, tuple[float, ...]]:
    return dict(zip(budget.table.rows_R, budget.table.seconds_RN, strict=True))


def of_size(pairs: list[tuple[BatchRun, BatchRun]], rows: int, budget: AutomaticBudget) -> dict[str, Any]:
    plain, trees = [plain for plain, _ in pairs], [tree for _, tree in pairs]
    table, best = budget.table, budget.table.best(rows)
    return {
        "ratio": round(rate(trees) / rate(plain), 3),
        **spread([rate([tree]) / rate([plain]) for plain, tree in pairs]),
        "batches": len(pairs),
        "plain_tokens_per_second": round(rate(plain), 1),
        "tokens_per_step": round(sum(run.tokens for run in trees) / sum(run.steps for run in trees) / rows, 3),
        "mean_nodes": round(sum(run.guesses for run in trees) / sum(run.row_steps for run in trees) + 1, 2),
        "nodes_at_the_end": budget.nodes(rows, observed=False),  # that which stands, not one that is tried
        "nodes_by_the_table": table.nodes_N[best],
        "speedup_by_the_table": round(table.speedup(rows, best), 3),
        "same_texts": sum(a == b for p, t in pairs for a, b in zip(p.texts, t.texts, strict=True)),
        "texts": rows * len(pairs),
    }


if __name__ == "__main__":
    main()
