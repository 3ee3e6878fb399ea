"""The tuned tree against other trees of the same heads: the chain, the published tree of 63 guesses, a full binary tree.

    python benchmarks/tree_choice.py --prompts question.jsonl --limit 60 --output benchmarks/results/tree_choice.json

Trees, calibration and size are learned on a random half of the prompts; the other half is decoded with every tree and plainly,
prompt by prompt, in an order that rotates. The last line printed is one JSON object.
"""

import argparse
from typing import Any

from setting import Setting, finish, learned_table, parser, progress, setting, spread

from headstart.drafters.arrangement import Arrangement, GrownTree, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.models.threads import cpu_threads
from headstart.sampling.noise import fold
from headstart.sampling.params import SamplingParams
from headstart.trees.shape import Path, TreeShape
from headstart.tuning.batch_run import BatchRun, decode_batch, rate

# The tree that Medusa publishes for Vicuna-7B (63 guesses). Under each path, how many first guesses of the next head it has.
CHILDREN: dict[Path, int] = {
    (): 10, (0,): 10, (1,): 7, (2,): 3, (3,): 2, (4,): 1, (5,): 1, (6,): 1, (7,): 1, (8,): 1, (9,): 1,
    (0, 0): 10, (0, 1): 3, (0, 2): 2, (0, 3): 1, (0, 4): 1, (0, 5): 1, (0, 6): 1, (0, 7): 1,
    (1, 0): 2, (2, 0): 1, (0, 0, 0): 2,
}  # fmt: skip


def published() -> TreeShape:
    return TreeShape(sorted(((*path, rank) for path, count in CHILDREN.items() for rank in range(count)), key=len))


def main() -> None:
    words = parser(__doc__, limit=60, tokens=128)
    words.add_argument("--nodes", type=int, help="of the tuned trees; by default what is fastest by the steps measured first")
    words.add_argument("--temperature", type=float, default=0.0)
    words.add_argument("--seconds", type=float, default=40.0, help="for timing steps")
    args = words.parse_args()
    with cpu_threads(None):
        finish("tree_choice", args, measured(setting(args), args))


def measured(here: Setting, args: argparse.Namespace) -> dict[str, Any]:
    params = SamplingParams(temperature=args.temperature)
    guesses = HeadGuesses(here.heads.heads, here.model)
    middle = (len(here.prompts) + 1) // 2
    known, new = here.prompts[:middle], here.prompts[middle:]
    learned, table = learned_table(here, guesses, known, params, args, more=[args.nodes] if args.nodes else [])
    nodes = args.nodes or max(2, table.nodes_N[table.best(1)])
    config = here.heads.config
    heads, width = config.num_heads, config.projected_vocab
    trees: dict[str, tuple[Arrangement, int]] = {
        "tuned, grown": (GrownTree(heads, width, learned.calibration), nodes),
        "tuned, static": (StaticTree(learned.tree), nodes),
        "chain": (StaticTree(TreeShape.chain(heads)), heads + 1),
        "published": (StaticTree(published().limited(depth=heads, width=width)), 64),
        "full binary": (StaticTree(TreeShape.full([2] * heads).limited(nodes=nodes)), nodes),
    }
    drafters = {name: MedusaDrafter(guesses, arrangement, name=name) for name, (arrangement, _) in trees.items()}
    engine = Engine(here.model, {"none": PlainDrafter(), **drafters})
    sizes = {"none": 1, **{name: min(size, drafters[name].facts.nodes or size) for name, (_, size) in trees.items()}}

    def decode(name: str, prompt: Any, tokens: int, seed: int) -> BatchRun:
        return decode_batch(engine, [prompt], tokens, here.stop_ids, drafter=name, nodes=sizes[name], params=params, seed=seed)

    names = list(sizes)
    for name in names:  # warm up
        decode(name, new[0], 8, 0)
    runs: dict[str, list[BatchRun]] = {name: [] for name in names}
    for i, prompt in enumerate(new):
        for name in names[i % len(names) :] + names[: i % len(names)]:
            runs[name].append(decode(name, prompt, args.max_new_tokens, fold(args.seed, i)))
        progress(
            f"{i + 1}/{len(new)}: " + ", ".join(f"{name} {rate([runs[name][-1]]):.1f}" for name in names if runs[name][-1].steps)
        )
    counted = [i for i in range(len(new)) if all(runs[name][i].steps for name in names)]
    kept = {name: [runs[name][i] for i in counted] for name in names}
    found: dict[str, Any] = {}
    for name in names:
        mine = kept[name]
        found[name] = {
            "nodes": sizes[name],
            "tokens_per_step": round(sum(run.tokens for run in mine) / sum(run.steps for run in mine), 3),
            "against_plain": {"ratio": round(rate(mine) / rate(kept["none"]), 3), **spread(ratios(mine, kept["none"]))},
            "same_texts": sum(run.texts == plain.texts for run, plain in zip(runs[name], runs["none"], strict=True)),
        }
    others = ("chain", "published", "full binary")
    won = {
        tuned: {
            name: {"ratio": round(rate(kept[tuned]) / rate(kept[name]), 3), **spread(ratios(kept[tuned], kept[name]))}
            for name in others
        }
        for tuned in ("tuned, grown", "tuned, static")
    }
    return {
        "temperature": args.temperature,
        "learned_from": len(known),
        "measured_on": len(counted),
        "trees": found,
        "tuned_against": won,
        "holds": all(won["tuned, grown"][name]["ratio"] > 1 for name in others),
    }


def ratios(top: list[BatchRun], bottom: list[BatchRun]) -> list[float]:
    return [rate([a]) / rate([b]) for a, b in zip(top, bottom, strict=True)]


if __name__ == "__main__":
    main()
