"""What heads owe to their recipe, and what to their data: one table of recipes, and tokens per step over answer tokens and kinds.

    headstart train bundled --output RUN --tokens 250000 --seed 7
    python benchmarks/recipes.py --shards RUN/run/shards --prompts question.jsonl --work DIR

The answers recorded in RUN teach all heads, but for the last shard, which none has seen. It and the model's greedy answers to the
prompts are decoded step by step from recorded states (exact), each half by what the other half taught. ``--work`` keeps heads,
answers and the arguments that they were made with; what is there is not made again, and other arguments are refused. The last line
printed is one JSON object.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from judging import Test, answers_to, greedy_places, guesses_of, worth
from setting import Setting, finish, parser, progress, setting

from headstart.drafters.arrangement import GrownTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads import MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.medusa import MedusaDrafter
from headstart.errors import HeadstartError
from headstart.models.threads import cpu_threads
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.train.options import TrainOptions
from headstart.train.plan import check_same_run, read_plan
from headstart.train.recorded import read_recorded
from headstart.train.run import train
from headstart.train.shards import Answer, Shard, read_shard, shard_path, write_shard
from headstart.trees.budget import Budget
from headstart.whole_file import write

_KEPT = ("model", "dtype", "shards", "prompts", "limit", "max_new_tokens", "seed", "epochs")
"""Arguments that everything in a work folder was made with; heads know by themselves what they learned from."""


@dataclass(frozen=True)
class Trained:
    """Heads to be trained: a recipe and its data."""

    name: str
    tokens: int
    """Answer tokens; whole conversations, so that it becomes a little more."""
    kinds: float = 1.0
    """Share of the kinds of conversation that the data come from."""
    options: dict[str, Any] = field(default_factory=dict)
    """What differs from the default recipe."""


def table(tokens: int, hidden_size: int, epochs: float) -> list[Trained]:
    changes: dict[str, dict[str, Any]] = {
        "default": {},
        "steps of 2,048 positions, rate 0.001": {"batch": 2048, "lr": 1e-3},
        "rate 0.001": {"lr": 1e-3},
        "rate 0.004": {"lr": 4e-3},
        "three times the epochs": {"epochs": 3 * epochs},
        "targets: the chosen token alone": {"soft_targets": 0.0},
        "targets: the distribution alone": {"soft_targets": 1.0},
        "not reading the root": {"condition_on_root": False},
        "root layer of half the width": {"condition_size": hidden_size},
        "no block": {"num_layers": 0},
        "two blocks": {"num_layers": 2},
        "an MLP for a block": {"block": "mlp"},
        "low-rank projections, rank 32": {"projection": "low-rank"},
        "projections of their own": {"projection": "own"},
        "draft vocabulary 4,096": {"draft_vocab_size": 4096},
        "the whole vocabulary": {"draft_vocab_size": 0},
    }
    return [Trained(name, tokens, options=options) for name, options in changes.items()]


def curve(most: int) -> list[Trained]:
    return [Trained(f"{most // part:,} tokens", most // part) for part in (16, 8, 4, 2, 1)]


def variety(tokens: int) -> list[Trained]:
    return [Trained(f"{share:.0%} of the kinds", tokens, kinds=share) for share in (0.125, 0.25, 0.5, 1.0)]


def main() -> None:
    words = parser(__doc__, limit=60, tokens=128)
    words.add_argument("--shards", type=Path, required=True)
    words.add_argument("--work", type=Path, required=True)
    words.add_argument("--table-tokens", type=int, default=40_000)
    words.add_argument("--kinds-tokens", type=int, default=25_000)
    words.add_argument("--own-positions", type=int, default=25_000, help="of the last shard, at which heads are judged")
    words.add_argument("--epochs", type=float, default=TrainOptions.epochs)
    words.add_argument("--only", nargs="*", choices=["table", "curve", "kinds"], default=["table", "curve", "kinds"])
    args = words.parse_args()
    try:
        with cpu_threads(None):
            finish("recipes", args, measured(setting(args), args))
    except HeadstartError as error:
        raise SystemExit(f"error: {error}") from error


def same_arguments(args: argparse.Namespace) -> None:
    """Keep the arguments in the work folder.

    Raises:
        SystemExit: what is there was made with others, or with arguments that nobody knows.
    """
    path, now = args.work / "arguments.json", {name: getattr(args, name) for name in _KEPT}
    now = {name: str(value.resolve()) if isinstance(value, Path) else value for name, value in now.items()}
    if not path.exists() and args.work.exists() and any(args.work.iterdir()):
        raise SystemExit(f"{path} is missing, so that nothing tells what {args.work} was made with; give an empty --work")
    before = json.loads(path.read_text()) if path.exists() else now
    other = [f"--{name.replace('_', '-')} {value}, not {now[name]}" for name, value in before.items() if value != now[name]]
    if other:
        raise SystemExit(f"what is in {args.work} was made with {'; '.join(other)}; give the same, or another --work")
    args.work.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(now, indent=1) + "\n")


def measured(here: Setting, args: argparse.Namespace) -> dict[str, Any]:
    facts = here.model.facts
    shards = read_recorded(args.shards, hidden_size=facts.hidden_size, vocab_size=facts.vocab_size)
    if len(shards) < 2:
        raise SystemExit(
            f"there is one shard in {args.shards}, and heads are judged by the last one, which none has learned from; record more"
            " (headstart train --tokens), or in smaller shards"
        )
    same_arguments(args)
    *known, kept = shards
    most = sum(len(shard.tokens) for shard in known)
    groups = {
        "table": table(min(most, args.table_tokens), facts.hidden_size, args.epochs),
        "curve": curve(most),
        "kinds": variety(args.kinds_tokens),
    }
    asked = answers_to(here, args.work / "prompts", args.max_new_tokens)
    tests = {"own": Test(kept, greedy_places(kept, args.own_positions)), "prompts": Test(asked, greedy_places(asked))}
    found: dict[str, Any] = {
        "epochs": args.epochs,
        "answer_tokens": most,
        "own_positions": tests["own"].positions,
        "prompts": len(asked.answer_lengths),
        "prompt_positions": len(asked.hidden_SD),
    }
    directories: dict[str, HeadsDirectory] = {}
    wanted = [  # all data first: a lack of them shows before an hour has gone into heads
        (group, each, subset(known, args.work / f"data-{each.tokens}-{each.kinds:g}", each))
        for group in args.only
        for each in groups[group]
    ]
    found.update({group: {} for group in args.only})
    for group, each, data in wanted:
        where = args.work / f"{group}-{each.name.replace(' ', '-').replace(',', '').replace('%', '').replace(':', '')}"
        plan = where / "run" / "run.json"
        recipe = {"epochs": args.epochs, "patience": 100, **each.options}
        options = TrainOptions(shards=data, resume=plan.exists(), quiet=True, **recipe)
        if (where / "minutes.json").exists():
            check_same_run(read_plan(plan), facts.name, options.identity, where)
        else:
            begun = time.perf_counter()
            trained = train(here.model, here.tokenizer, where, options=options)
            minutes = None if options.resume else round((time.perf_counter() - begun) / 60, 1)  # nobody knows those of before
            done = {"minutes": minutes, "tokens": trained.tokens, "steps": trained.steps}
            write(where / "minutes.json", json.dumps(done).encode())
        directory = HeadsDirectory.from_pretrained(where)
        found[group][each.name] = {
            **json.loads((where / "minutes.json").read_text()),
            "kinds": len(kinds_in(data)),
            **worth(guesses_of(directory, here, each.name), tests),
        }
        if group == "table":
            directories[each.name] = directory
        progress(f"{group}, {each.name}: {json.dumps(found[group][each.name])}")
    for name, milliseconds in draft_times(here, directories).items():
        found["table"][name]["draft_milliseconds"] = milliseconds
    found["shipped"] = worth(guesses_of(here.heads, here, "shipped"), tests)
    progress(f"shipped: {json.dumps(found['shipped'])}")
    return found


def subset(shards: Sequence[Shard], directory: Path, wanted: Trained) -> Path:
    """Shards of the first conversations of a share of the kinds, up to so many answer tokens."""
    if shard_path(directory, 0).exists():
        return directory
    directory.mkdir(parents=True, exist_ok=True)
    conversations = [group for shard in shards for group in shard.conversations()]
    kinds = sorted({group[0].kind for group in conversations})
    step = 1 / wanted.kinds
    chosen = {kinds[int(i * step)] for i in range(max(1, round(len(kinds) * wanted.kinds)))}
    taken: list[list[Answer]] = []
    tokens = 0
    for group in conversations:
        if tokens < wanted.tokens and group[0].kind in chosen:
            taken.append(group)
            tokens += sum(len(answer.ids) for answer in group)
    if tokens < wanted.tokens:
        raise SystemExit(
            f"{len(chosen)} kinds have {tokens:,} answer tokens; {wanted.tokens:,} were wanted: record more, or ask for fewer"
        )
    write_shard(shard_path(directory, 0), 0, taken, {"model": shards[0].metadata.get("model", "")})
    return directory


def kinds_in(directory: Path) -> set[str]:
    """The kinds of the conversations' first questions."""
    return {group[0].kind for group in read_shard(shard_path(directory, 0)).conversations()}


@torch.inference_mode()
def draft_times(here: Setting, directories: dict[str, HeadsDirectory], turns: int = 200) -> dict[str, float]:
    """Milliseconds of a draft for one text, a tree of 8 nodes: the median over turns, in which all heads take part."""
    hidden_1D = torch.randn(1, here.model.facts.hidden_size).to(here.model.facts.device, here.model.facts.dtype)
    row = RowSampling(params=SamplingParams(), seed=0, prompt_length=1, generated=[5])
    ways: dict[str, Callable[[], object]] = {}
    for name, directory in directories.items():
        assert isinstance(directory.heads, MedusaHeads)
        config = directory.heads.config
        arrangement = GrownTree(config.num_heads, config.projected_vocab, directory.calibration)
        drafter = MedusaDrafter(HeadGuesses(directory.heads, here.model), arrangement)
        drafter.start(0, [1], hidden_1D)
        ways[name] = lambda drafter=drafter: drafter.propose([0], [row], [Budget(8, 4)])  # type: ignore[misc]
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(turns + 5):
        for name in sorted(ways, reverse=turn % 2 == 1):
            begun = time.perf_counter()
            ways[name]()
            if turn >= 5:
                seconds[name].append(time.perf_counter() - begun)
    return {name: round(statistics.median(values) * 1000, 3) for name, values in seconds.items()}


if __name__ == "__main__":
    main()
