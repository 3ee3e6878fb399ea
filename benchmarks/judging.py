"""Heads judged by recorded answers: what they guess at each position, as they do when drafting, and what that is worth.

The answers are the model's own and were recorded with their states, so that no pass of the model is run and nothing is estimated:
each step's tree is grown and held against the text that came.
"""

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from setting import Setting

from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads import MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.models.dtype import dtype_name
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.train.generation import recording_pool
from headstart.train.recorder import RECORD
from headstart.train.scripts import Ask, Script
from headstart.train.shards import Answer, Place, Shard, read_shard, shard_path, write_shard
from headstart.trees.growth import WIDEST
from headstart.tuning.learned import learn
from headstart.tuning.observe import BEYOND, Observations, compared

SIZES = (8, 16)
_ROWS = 64


@dataclass(frozen=True)
class Test:
    """Greedy answers that heads are judged by."""

    shard: Shard
    places: list[Place]

    @property
    def positions(self) -> int:
        return sum(place.num_states for place in self.places)


def answers_to(here: Setting, directory: Path, tokens: int) -> Shard:
    """The model's greedy answers to the prompts, with their states.

    Raises:
        SystemExit: those in ``directory`` answer other prompts, or are another model's.
    """
    path = shard_path(directory, 0)
    made = {"model": here.model.facts.name, "dtype": dtype_name(here.model.facts.dtype), "max_new_tokens": str(tokens)}
    if not path.exists():
        directory.mkdir(parents=True, exist_ok=True)
        scripts = [script(ids, here.stop_ids, tokens) for ids in here.prompts]
        write_shard(path, 0, recording_pool(here.model, max_rows=32).run(scripts, lambda count: None), made)
    shard = read_shard(path)
    other = [f"{name} {shard.metadata.get(name)}, not {value}" for name, value in made.items() if shard.metadata.get(name) != value]
    if other:
        raise SystemExit(f"the answers in {path} were made with {', '.join(other)}; give another --work")
    if [shard.prompt_tokens[place.prompt].tolist() for place in shard.places()] != [list(ids) for ids in here.prompts]:
        raise SystemExit(f"{path} answers other prompts; give the same --prompts, --limit and --seed, or another --work")
    return shard


def script(ids: Sequence[int], stop_ids: frozenset[int], tokens: int) -> Script:
    request = Request(prompt_ids=ids, stop_ids=stop_ids, max_new_tokens=tokens, drafter=RECORD)
    reply = yield Ask(request, 1)
    return [Answer(ids, reply.ids, reply.hidden_TD, True, "prompt")]


def greedy_places(shard: Shard, positions: int | None = None, conversations: Container[int] | None = None) -> list[Place]:
    """Where the greedy answers lie that heads can guess at, of all conversations or some: all, or the first ones up to so many
    positions."""
    found: list[Place] = []
    left = math.inf if positions is None else positions
    for place in shard.places():
        wanted = conversations is None or place.conversation in conversations
        if left > 0 and place.greedy and place.num_states and wanted:
            found.append(place)
            left -= place.num_states
    return found


def guesses_of(directory: HeadsDirectory, here: Setting, name: str) -> HeadGuesses:
    """Raises SystemExit if they are no Medusa heads; HeadsError if they are another model's."""
    if directory.config.kind != "medusa" or not isinstance(directory.heads, MedusaHeads):
        raise SystemExit(f"{name}: heads of kind {directory.config.kind!r}; only medusa heads guess from recorded states alone")
    directory.check_base(here.model)
    return HeadGuesses(directory.heads, here.model)


def worth(guesses: HeadGuesses, tests: dict[str, Test]) -> dict[str, Any]:
    return {
        "parameters": guesses.heads.num_parameters,
        **{name: figures(seen(guesses, test)) for name, test in tests.items()},
    }


def figures(observed: Observations) -> dict[str, Any]:
    learned = learn(observed, [*SIZES, 64])
    return {
        "top1": top1(observed.rank_EK),
        "grown": {nodes: round(learned.grown[nodes], 4) for nodes in SIZES},
        "static": {nodes: round(learned.static[nodes], 4) for nodes in SIZES},
        "error_of_grown": {nodes: round(learned.error[nodes], 4) for nodes in SIZES},
    }


def top1(rank_EK: torch.Tensor) -> list[float]:
    """How often the first guess of each head is right, among the positions where there is a token to guess."""
    return [round(float((rank_E[rank_E != BEYOND] == 0).double().mean()), 4) for rank_E in rank_EK.T]


@torch.inference_mode()
def seen(guesses: HeadGuesses, test: Test) -> Observations:
    """What the heads guess at each position of the greedy answers, as they do when drafting."""
    ranks = min(WIDEST, guesses.heads.config.projected_vocab)
    greedy = RowSampling(params=SamplingParams(), seed=0, prompt_length=1)
    parts = []
    for place in test.places:
        ids, hidden_TD = test.shard.tokens[place.answer].tolist(), test.shard.hidden_SD[place.states]
        steps = []
        for at in range(0, len(hidden_TD), _ROWS):
            hidden_BD = hidden_TD[at : at + _ROWS].to(guesses.device, guesses.heads.block_weight.dtype)
            roots_B = torch.tensor(ids[at : at + len(hidden_BD)], device=guesses.device)
            guesses_KBR, log_q_KBR = guesses.best(hidden_BD, roots_B, [greedy] * len(hidden_BD), ranks, probabilities=True)
            assert log_q_KBR is not None
            steps += list(zip(guesses_KBR.cpu().unbind(1), log_q_KBR.cpu().unbind(1), strict=True))
        parts.append(compared(steps, ids))
    return Observations(
        torch.cat([rank_EK for rank_EK, _ in parts]),
        torch.cat([log_q_EKR for _, log_q_EKR in parts]),
        tuple(len(rank_EK) for rank_EK, _ in parts),
    )
