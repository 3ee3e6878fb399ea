"""What heads are worth on prompts, several side by side; and how much of what they learned from they know by heart.

    python benchmarks/heads_worth.py --prompts question.jsonl --work DIR --also mine=HEADS --also other=HEADS

The model's greedy answers to the prompts are decoded step by step from recorded states (exact), each half by what the other half
taught. ``--work`` keeps the answers. With ``--shards RUN/run/shards`` the heads are also asked about positions of the answers that
RUN's heads learned from, and about as many of those that it held out: the same conversations for all heads that were trained
there. The last line printed is one JSON object.
"""

import argparse
from pathlib import Path
from typing import Any

import torch
from judging import Test, answers_to, greedy_places, seen, top1, worth
from setting import Setting, finish, parser, progress, setting

from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads import MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.errors import HeadstartError
from headstart.models.threads import cpu_threads
from headstart.train.batches import held_out
from headstart.train.recorded import read_recorded
from headstart.train.run import HELD_OUT_LEAST, HELD_OUT_SHARE


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
    asked = answers_to(here, args.work, args.max_new_tokens)
    tests = {"prompts": Test(asked, greedy_places(asked))}
    memory = {} if args.shards is None else known_and_unknown(here, args.shards, args.positions)
    found: dict[str, Any] = {"prompts": len(asked.answer_lengths), "prompt_positions": tests["prompts"].positions, "heads": {}}
    for name, parts in memory.items():
        found[f"{name}_positions"] = sum(part.positions for part in parts)
    for name, directory in judged.items():
        assert isinstance(directory.heads, MedusaHeads)
        guesses = HeadGuesses(directory.heads, here.model)
        found["heads"][name] = {
            **worth(here, directory, tests),
            **{f"{kind}_top1": top1(torch.cat([seen(guesses, part).rank_EK for part in parts])) for kind, parts in memory.items()},
        }
        progress(f"{name}: {found['heads'][name]}")
    return found


def known_and_unknown(here: Setting, directory: Path, positions: int) -> dict[str, list[Test]]:
    """Greedy answers that a run's heads learned from, and held-out ones: as many positions of each shard."""
    facts = here.model.facts
    shards = read_recorded(directory, hidden_size=facts.hidden_size, vocab_size=facts.vocab_size)
    everything = {number for shard in shards for number in shard.conversation_ids}
    aside = held_out(sorted(everything), HELD_OUT_SHARE, HELD_OUT_LEAST)
    most = -(-positions // len(shards))
    kinds = {"trained_on": everything - aside, "held_out": aside}
    tests = {kind: [Test(shard, greedy_places(shard, most, numbers)) for shard in shards] for kind, numbers in kinds.items()}
    return {kind: [test for test in parts if test.places] for kind, parts in tests.items()}


if __name__ == "__main__":
    main()
