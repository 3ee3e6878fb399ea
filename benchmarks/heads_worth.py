"""What heads are worth on prompts, several side by side; and how much of what they learned from they know by heart.

    python benchmarks/heads_worth.py --prompts question.jsonl --work DIR --also mine=HEADS --also other=HEADS

The model's greedy answers to the prompts are decoded step by step from recorded states (exact), each half by what the other half
taught. ``--work`` keeps the answers. With ``--shards RUN/run/shards`` the heads are also asked about positions of the answers that
RUN's heads learned from, and about as many of those that it held out: the same conversations for all heads that were trained
from as many of these answers. The last line printed is one JSON object.
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from judging import Test, answers_to, greedy_places, guesses_of, seen, top1, worth
from setting import Setting, finish, parser, progress, setting

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.errors import HeadstartError
from headstart.models.threads import cpu_threads
from headstart.train.held_out import split
from headstart.train.plan import read_plan
from headstart.train.recorded import enough, read_recorded
from headstart.train.run_directory import RUN_FILE


def main() -> None:
    words = parser(__doc__, limit=240, tokens=128)
    words.add_argument("--work", type=Path, required=True)
    words.add_argument("--also", action="append", default=[], metavar="NAME=DIR", help="other heads, beside those of --heads")
    words.add_argument("--shards", type=Path)
    words.add_argument("--positions", type=int, default=20_000, help="of the shards, held out and not")
    args = words.parse_args()
    try:
        with cpu_threads(None):
            finish("heads_worth", args, measured(setting(args), args))
    except HeadstartError as error:
        raise SystemExit(f"error: {error}") from error


def measured(here: Setting, args: argparse.Namespace) -> dict[str, Any]:
    judged = {args.heads: here.heads}
    for each in args.also:
        name, _, directory = each.partition("=")
        if not name or not directory or name in judged:
            raise SystemExit(f"--also {each}: expected NAME=DIR, with a name of its own")
        judged[name] = HeadsDirectory.from_pretrained(Path(directory))
    guesses = {name: guesses_of(directory, here, name) for name, directory in judged.items()}
    asked = answers_to(here, args.work, args.max_new_tokens)
    tests = {"prompts": Test(asked, greedy_places(asked))}
    memory = {} if args.shards is None else known_and_unknown(here, args.shards, args.positions)
    found: dict[str, Any] = {"prompts": len(asked.answer_lengths), "prompt_positions": tests["prompts"].positions, "heads": {}}
    for name, parts in memory.items():
        found[f"{name}_positions"] = sum(part.positions for part in parts)
    for name, each in guesses.items():
        found["heads"][name] = {
            **worth(each, tests),
            **{f"{kind}_top1": top1(torch.cat([seen(each, part).rank_EK for part in parts])) for kind, parts in memory.items()},
        }
        progress(f"{name}: {found['heads'][name]}")
    return found


def known_and_unknown(here: Setting, directory: Path, positions: int) -> dict[str, list[Test]]:
    """Greedy answers that a run's heads learned from, and held-out ones: as many positions of each shard."""
    facts = here.model.facts
    shards = read_recorded(directory, hidden_size=facts.hidden_size, vocab_size=facts.vocab_size)
    plan = directory.parent / RUN_FILE
    if plan.exists():  # what is left out of training follows from what was trained on
        shards = enough(shards, read_plan(plan).tokens)
    known, aside = split((number for shard in shards for number in shard.conversation_ids), f"in {directory}", "Record more")
    most = -(-positions // len(shards))
    kinds = {"trained_on": known, "held_out": aside}
    tests = {kind: [Test(shard, greedy_places(shard, most, numbers)) for shard in shards] for kind, numbers in kinds.items()}
    found = {kind: [test for test in parts if test.places] for kind, parts in tests.items()}
    for kind, parts in found.items():
        if not parts:
            raise SystemExit(f"none of the {kind.replace('_', '-')} answers in {directory} is greedy, which heads are judged by")
    return found


if __name__ == "__main__":
    main()
