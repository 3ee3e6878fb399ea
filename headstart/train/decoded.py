"""Tokens per step as they come: the base model decodes a few held-out prompts with the heads that were just trained."""

import copy
from collections.abc import Sequence, Set
from dataclasses import asdict, dataclass
from typing import Any

from headstart.completion import Stats
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.named import named_drafters
from headstart.engine.engine import Engine
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.train.shards import Shard

NODES = 8
"""Of the tree, the root included: the size by which training stops early."""
PROMPTS = 8


@dataclass(frozen=True)
class Decoded:
    """Greedy answers to held-out prompts."""

    drafter: str
    nodes: int
    answers: int
    """Those of more than one token."""
    tokens: int
    """After the first one of each answer."""
    steps: int
    """Verify passes."""
    lowest: float
    highest: float
    """Tokens per step of the worst and the best answer."""

    @property
    def tokens_per_step(self) -> float:
        return self.tokens / self.steps

    @property
    def line(self) -> str:
        return (
            f"{self.drafter} {self.tokens_per_step:.2f} at {self.nodes} nodes ({self.lowest:.2f} to {self.highest:.2f} over"
            f" {self.answers} answers, {self.steps:,} steps)"
        )

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "tokens_per_step": self.tokens_per_step}


def held_out_prompts(shards: Sequence[Shard], conversations: Set[int], count: int = PROMPTS) -> list[list[int]]:
    """The prompts of the first answer of ``count`` of these conversations, taken evenly; greedily answered ones where there are."""
    firsts: dict[bool, dict[int, list[int]]] = {True: {}, False: {}}
    for shard in shards:
        for place in shard.places():
            if place.conversation in conversations and (prompt := shard.prompt_tokens[place.prompt].tolist()):
                firsts[place.greedy].setdefault(place.conversation, prompt)
    found = list((firsts[True] or firsts[False]).values())
    step = max(1.0, len(found) / count)
    return [found[int(i * step)] for i in range(min(count, len(found)))]


def decode(
    model: BaseModel, directory: HeadsDirectory, prompts: Sequence[Sequence[int]], *, stop_ids: frozenset[int], max_new_tokens: int
) -> list[Decoded]:
    """Decode ``prompts`` with the heads' grown and static trees; none where no answer is longer than a token."""
    directory = copy.copy(directory)
    directory.heads = copy.deepcopy(directory.heads)  # drafting moves them into the model's precision
    drafters = named_drafters(model, directory)
    kind = directory.config.kind
    found = []
    for name in (kind, f"{kind}-static"):
        engine = Engine(model, drafters, nodes=NODES)
        requests = [
            Request(prompt_ids=ids, stop_ids=stop_ids, max_new_tokens=max_new_tokens, drafter=name)
            for ids in prompts
            if len(ids) < model.facts.context_length
        ]
        each = [stats for stats in _run(engine, requests) if stats.steps]
        if each:
            rates = [stats.tokens_per_step for stats in each]
            tokens, steps = sum(stats.emitted_tokens - 1 for stats in each), sum(stats.steps for stats in each)
            found.append(Decoded(name, NODES, len(each), tokens, steps, min(rates), max(rates)))
    return found


def _run(engine: Engine, requests: Sequence[Request]) -> list[Stats]:
    for request in requests:
        engine.add(request)
    done: list[Stats] = []
    while engine.has_work:
        for event in engine.step():
            if event.error is not None:
                raise event.error
            if event.finish_reason is not None:
                done.append(event.stats)
    return done
