"""What heads are worth on conversations that they were not trained on.

Shapes: E examples, B examples of a batch, K heads, R ranks, V draft vocabulary.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

import torch

from headstart.train.accuracy import top_shares
from headstart.train.batches import Examples
from headstart.train.hydra_simulation import simulate_grown
from headstart.train.loop import Trainer
from headstart.train.simulation import BEYOND, WIDTH, Guesses, cross_simulated, joint_counts, ranked
from headstart.trees.calibration import Calibration
from headstart.trees.search import expected_tokens, grow
from headstart.trees.shape import Path
from headstart.tuning.calibration import fit_calibration

SIZES = (4, 8, 16, 32, 64)
"""Tree sizes that are reported, the root included."""
_BATCH = 1024


@dataclass(frozen=True)
class Evaluation:
    """Figures on held-out conversations."""

    conversations: int
    answers: int
    examples: int
    labels: int
    """Head tokens looked at, over all heads."""
    coverage: float
    """Share of labels that are in the draft vocabulary at all."""
    top_KT: list[list[float]]
    """Per head, how often the right token is among its first 1, 3, 5 and 10 guesses; tokens outside the vocabulary are misses."""
    predicted: dict[int, float]
    """Tokens per step by tree size: the mean over all examples, tree grown from the same ones."""
    simulated: dict[int, float]
    """Tokens per step by tree size: greedy answers decoded step by step with a static tree, each half with the tree of the
    other half. Empty without greedy answers."""
    simulated_steps: dict[int, int]
    """Base-model passes that ``simulated`` stands on."""
    grown: dict[int, float]
    """Like ``simulated``, with a tree grown anew each step, each half of the answers by the calibration of the other half. Hydra
    heads grow them at some of the answers only, and at the end of training alone."""
    grown_examples: int
    """Positions that ``grown`` stands on."""

    @property
    def score(self) -> float:
        """What training stops early by: predicted tokens per step at 8 nodes."""
        return self.predicted[8]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Observed:
    """What was seen on held-out conversations, for the heads' trees."""

    counts: Counter[Path]
    """How often the true continuation lay on each rank path."""
    total: int
    calibration: Calibration


@torch.no_grad()
def guesses(trainer: Trainer, examples: Examples) -> Guesses:
    """What the heads guess for each example, after the true tokens before theirs, and where the right token is among it."""
    heads = trainer.heads.config.num_heads
    width = min(WIDTH, trainer.heads.config.projected_vocab)
    rank_EK = torch.full((len(examples), heads), BEYOND, dtype=torch.int8)
    log_q_EKR = torch.full((len(examples), heads, width), float("-inf"))
    for index_B in torch.arange(len(examples)).split(_BATCH):
        batch = examples.gather(index_B, heads, trainer.device)
        states_KBD, labels_KB = trainer.states(batch), trainer.labels(batch)
        for k in range(heads):
            logits_BV, ended_B = trainer.logits(k, states_KBD[k]), batch.targets_BK[:, k] == BEYOND
            rank_EK[index_B, k], log_q_EKR[index_B, k] = ranked(logits_BV, labels_KB[k], ended_B)
    return Guesses(rank_EK, log_q_EKR)


def evaluate(trainer: Trainer, examples: Examples, *, last: bool = True) -> tuple[Evaluation, Observed]:
    """All figures, and what trees are made from. ``last`` says that training is over, so that figures may take longer."""
    trainer.heads.eval()
    seen = guesses(trainer, examples)
    trainer.heads.train()
    rank_EK = seen.rank_EK
    greedy = [span for span in examples.spans if span.greedy]
    counted = greedy or examples.spans
    counts, total = joint_counts(rank_EK, counted)
    simulated = cross_simulated(seen, greedy, SIZES) if greedy else {}
    grown, grown_examples = {nodes: figures.grown for nodes, figures in simulated.items()}, sum(span.count for span in greedy)
    if trainer.heads.config.kind == "hydra":
        grown, grown_examples = simulate_grown(trainer, examples, seen, greedy, SIZES) if last and greedy else ({}, 0)
    covered = _covered(trainer, examples)
    result = Evaluation(
        conversations=len({span.conversation for span in examples.spans}),
        answers=len(examples.spans),
        examples=len(examples),
        labels=int((rank_EK != BEYOND).sum()),
        coverage=covered,
        top_KT=top_shares(rank_EK),
        predicted={nodes: expected_tokens(grow(counts, nodes), counts, total) for nodes in SIZES},
        simulated={nodes: figures.static for nodes, figures in simulated.items()},
        simulated_steps={nodes: figures.static_steps for nodes, figures in simulated.items()},
        grown=grown,
        grown_examples=grown_examples,
    )
    return result, Observed(counts, total, fit_calibration(seen.log_q_EKR, rank_EK.long()))


def _covered(trainer: Trainer, examples: Examples) -> float:
    inside = torch.zeros(trainer.heads.config.vocab_size, dtype=torch.bool)
    draft_ids = trainer.heads.draft_ids_V
    inside[slice(None) if draft_ids is None else draft_ids.cpu()] = True
    tokens = torch.cat([examples.targets(span) for span in examples.spans])
    return _share(inside[tokens].sum(), torch.tensor(len(tokens)))


def _share(part: torch.Tensor, whole: torch.Tensor) -> float:
    return float(part) / float(whole) if float(whole) else float("nan")
