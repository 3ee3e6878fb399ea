"""What a joint run came to: the model's quality and the heads' worth, each beside what it was before."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

from headstart.train.accuracy import shown, top_shares
from headstart.train.decoded import Decoded
from headstart.train.joint.quality import Seen
from headstart.train.joint.tasks import Solved
from headstart.train.simulation import cross_simulated

SIZES = (4, 8, 16, 32)
"""Tree sizes that are reported, the root included."""


@dataclass(frozen=True)
class Worth:
    """Tokens per step, greedy answers decoded step by step; each half of the conversations with what was learned on the other."""

    top1_K: list[float]
    """How often each head's first guess is right, in greedy answers if there are any."""
    static: dict[int, float]
    grown: dict[int, float]
    """Empty for Hydra heads: trees that are grown need the guesses on all paths."""
    steps: int
    """Base-model passes that the figures at 8 nodes stand on."""
    answers: int

    @property
    def score(self) -> float:
        """At 8 nodes; NaN where there were no greedy answers."""
        return (self.grown or self.static).get(8, float("nan"))

    @property
    def line(self) -> str:
        first = ", ".join(map(shown, self.top1_K))
        trees = self.grown or self.static
        worth = ", ".join(f"{trees[nodes]:.2f} at {nodes} nodes" for nodes in (8, 16) if nodes in trees)
        return f"top-1 {first}; tokens per step {worth} ({self.answers} answers)"


@dataclass(frozen=True)
class JointResult:
    """Figures of one run, on held-out conversations."""

    directory: Path
    steps: int
    tokens: int
    """Tokens that the model was run over, prompts included."""
    seconds: float
    perplexity_before: float
    """Of the untouched model, on its own recorded answers."""
    perplexity: float
    """Of the merged model, on the same answers."""
    agreement: float
    """Share of places where both think the same token the likeliest."""
    judged: int
    """Answer tokens that the three figures stand on."""
    before: Worth
    """The heads as they were, on answers of the untouched model."""
    after: Worth
    """The new heads, on the merged model's own answers to the same prompts."""
    decoded: list[Decoded] = field(default_factory=list)
    """A few of the prompts decoded by the merged model with the new heads: tokens per step as they come."""
    tasks: dict[str, Solved] = field(default_factory=dict)
    """By kind of task; empty where nobody judged."""

    @property
    def perplexity_change(self) -> float:
        """0.01 is one percent worse."""
        return self.perplexity / self.perplexity_before - 1

    def to_dict(self) -> dict[str, Any]:
        more = {"perplexity_change": self.perplexity_change, "decoded": [each.to_dict() for each in self.decoded]}
        return {**asdict(self), "directory": str(self.directory), **more}


def worth_of(seen: Seen, *, grows: bool) -> Worth:
    """What the guesses are worth on the greedy answers among ``seen``."""
    greedy = [span for span in seen.spans if span.greedy]
    simulated = cross_simulated(seen.guesses, greedy, SIZES)
    rank_EK = seen.guesses.rank_EK
    if greedy:  # sampled answers are harder to guess, and the new model's own are all greedy
        rank_EK = torch.cat([rank_EK[span.first : span.first + span.count] for span in greedy])
    return Worth(
        top1_K=[top_T[0] for top_T in top_shares(rank_EK)],
        static={nodes: each.static for nodes, each in simulated.items()},
        grown={nodes: each.grown for nodes, each in simulated.items()} if grows else {},
        steps=simulated[8].static_steps if simulated else 0,
        answers=len(greedy),
    )
