"""How well tokens per step and speed-up are predicted: learned on a random half of the prompts, measured on the other half.

    python benchmarks/prediction.py --prompts question.jsonl --limit 160 --output benchmarks/results/prediction.json

For each temperature: the heads are observed on one half, steps are timed there, and a size is chosen as ``headstart tune`` does.
The other half is decoded plainly and with trees of that size (and of the sizes of ``--nodes``), prompt by prompt, in turn. The last
line printed is one JSON object.
"""

import argparse
from typing import Any

from setting import Setting, finish, learned_table, parser, progress, setting, spread

from headstart.drafters.arrangement import GrownTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.models.threads import cpu_threads
from headstart.sampling.noise import fold
from headstart.sampling.params import SamplingParams
from headstart.tuning.batch_run import BatchRun, decode_batch, rate
from headstart.tuning.replay import standard_error, tokens_per_step

TOKENS_WITHIN, SPEEDUP_WITHIN = 0.05, 0.10


def main() -> None:
    words = parser(__doc__, limit=160, tokens=128)
    words.add_argument("--temperatures", type=float, nargs="*", default=[0.0, 1.0])
    words.add_argument("--nodes", type=int, nargs="*", default=[], help="further sizes to predict and measure")
    words.add_argument("--seconds", type=float, default=40.0, help="for timing steps")
    args = words.parse_args()
    with cpu_threads(None):
        here = setting(args)
        guesses = HeadGuesses(here.heads.heads, here.model)
        finish("prediction", args, {"temperatures": {t: of_temperature(here, guesses, t, args) for t in args.temperatures}})


def of_temperature(here: Setting, guesses: HeadGuesses, temperature: float, args: argparse.Namespace) -> dict[str, Any]:
    params = SamplingParams(temperature=temperature)
    middle = (len(here.prompts) + 1) // 2
    known, new = here.prompts[:middle], here.prompts[middle:]
    learned, table = learned_table(here, guesses, known, params, args, more=args.nodes)
    chosen = table.best(1)
    config = here.heads.config
    grown = MedusaDrafter(guesses, GrownTree(config.num_heads, config.projected_vocab, learned.calibration))
    engine = Engine(here.model, {"none": PlainDrafter(), "medusa": grown})
    sizes = sorted({table.nodes_N[chosen], *args.nodes} - {1})
    runs: dict[int, list[BatchRun]] = {nodes: [] for nodes in (1, *sizes)}
    order = list(runs)
    for i, prompt in enumerate(new):
        for nodes in order[i % len(order) :] + order[: i % len(order)]:
            runs[nodes].append(
                decode_batch(
                    engine,
                    [prompt],
                    args.max_new_tokens,
                    here.stop_ids,
                    drafter="none" if nodes == 1 else "medusa",
                    nodes=nodes,
                    params=params,
                    seed=fold(args.seed, i),
                )
            )
        progress(f"temperature {temperature:g}, prompt {i + 1}/{len(new)}")
    counted = [i for i in range(len(new)) if all(run[i].steps for run in runs.values())]
    result: dict[str, Any] = {"learned_from": len(known), "measured_on": len(counted), "chosen_nodes": table.nodes_N[chosen]}
    for nodes in sizes:
        mine, plain = [runs[nodes][i] for i in counted], [runs[1][i] for i in counted]
        size = table.nodes_N.index(nodes)
        counts = [(run.tokens, run.steps) for run in mine]
        tokens, speedup = tokens_per_step(counts), rate(mine) / rate(plain)
        chance = (learned.error[nodes] ** 2 + standard_error(counts) ** 2) ** 0.5
        result[f"{nodes} nodes"] = {
            "tokens_per_step": compared(table.tokens_N[size], tokens, TOKENS_WITHIN),
            "standard_error_of_the_difference": round(chance, 3),
            "speedup": compared(table.speedup(1, size), speedup, SPEEDUP_WITHIN),
            "speedup_of_prompts": spread([rate([a]) / rate([b]) for a, b in zip(mine, plain, strict=True)]),
            "same_texts": sum(runs[nodes][i].texts == runs[1][i].texts for i in range(len(new))),
        }
    return result


def compared(predicted: float, measured: float, within: float) -> dict[str, Any]:
    error = predicted / measured - 1
    found = {"predicted": round(predicted, 3), "measured": round(measured, 3), "relative_error": round(error, 4)}
    return {**found, "within": within, "holds": abs(error) <= within}


if __name__ == "__main__":
    main()
