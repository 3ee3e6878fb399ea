"""What trees of Hydra heads are worth: their guesses depend on the path, so the heads grow trees themselves, as in drafting.

Shapes: E examples, B examples of a batch, K heads, N tree nodes.
"""

from collections.abc import Sequence
from copy import deepcopy

import torch

from headstart.drafters.hydra_guesses import HydraGuesses
from headstart.drafters.hydra_trees import GrownLevels
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.train.batches import AnswerSpan, Examples
from headstart.train.loop import Trainer
from headstart.train.simulation import Guesses, simulate
from headstart.trees.budget import Budget
from headstart.trees.calibration import Calibration
from headstart.tuning.calibration import fit_calibration

MOST_EXAMPLES = 4096
"""Positions that trees are grown at: each takes as long as drafting."""
LARGEST = 32
"""Nodes of such a tree: larger ones take longer than they tell."""
_BATCH = 32


def simulate_grown(
    trainer: Trainer, examples: Examples, seen: Guesses, greedy: Sequence[AnswerSpan], sizes: Sequence[int]
) -> tuple[dict[int, float], int]:
    """Tokens per step by tree size, each half of the conversations by the calibration of the other half; and at how many
    positions. Only so many greedy answers as fit in ``MOST_EXAMPLES`` count, and sizes up to ``LARGEST``; empty if a half has none.

    ``seen`` are the guesses after the true tokens, which is what a calibration is about.
    """
    numbers = sorted({span.conversation for span in greedy})
    sizes = [nodes for nodes in sizes if nodes <= LARGEST]
    halves = [[span for span in greedy if span.conversation in set(numbers[half::2])] for half in range(2)]
    if not halves[1]:
        return {}, 0
    parts = [seen.of(half) for half in halves]
    lines = [fit_calibration(part.log_q_EKR, part.rank_EK.long()) for part in parts]
    guesses = HydraGuesses(deepcopy(trainer.heads), trainer.model)
    total = dict.fromkeys(sizes, (0, 0))
    positions = 0
    for half, line in zip(halves, reversed(lines), strict=True):
        some = _first(half, MOST_EXAMPLES // 2)
        accepted = {nodes: torch.zeros(len(examples), dtype=torch.int64) for nodes in sizes}
        index_E = torch.cat([torch.arange(span.first, span.first + span.count) for span in some])
        for index_B in index_E.split(_BATCH):
            needed_BK = _nodes_needed(guesses, trainer, examples, index_B, line, max(sizes))
            for nodes in sizes:
                accepted[nodes][index_B] = (needed_BK <= nodes).sum(-1)
        for nodes in sizes:
            tokens, steps = simulate(accepted[nodes], some)
            total[nodes] = (total[nodes][0] + tokens, total[nodes][1] + steps)
        positions += len(index_E)
    return {nodes: tokens / steps for nodes, (tokens, steps) in total.items()}, positions


@torch.inference_mode()
def _nodes_needed(
    guesses: HydraGuesses, trainer: Trainer, examples: Examples, index_B: torch.Tensor, calibration: Calibration, nodes: int
) -> torch.Tensor:
    """B x K: how many nodes a tree needs to hold k + 1 right guesses; more than ``nodes`` if one of that size does not.

    A smaller tree is a prefix of a larger one.
    """
    heads = guesses.heads.config.num_heads
    batch = examples.gather(index_B, heads, trainer.device)
    greedy = RowSampling(params=SamplingParams(), seed=0, prompt_length=0)
    hidden_BD = batch.hidden_BD.to(guesses.heads.condition_in.dtype)
    rows = guesses.rows(hidden_BD, batch.roots_B, [greedy] * len(index_B))
    levels = GrownLevels(heads, guesses.heads.config.projected_vocab, calibration)
    tree = levels.make(guesses, rows, batch.roots_B, [Budget(nodes, heads)] * len(index_B))
    needed_BK = torch.full((len(index_B), heads), nodes + 1)
    here_B = torch.zeros(len(index_B), dtype=torch.int64, device=trainer.device)
    alive_B = torch.ones(len(index_B), dtype=torch.bool, device=trainer.device)
    for k in range(heads):
        child_BN = (tree.parent_BN == here_B[:, None]) & (tree.tokens_BN == batch.targets_BK[:, k, None])
        child_BN &= tree.depth_BN == k + 1
        alive_B = alive_B & child_BN.any(-1)
        here_B = torch.where(alive_B, child_BN.int().argmax(-1), here_B)
        needed_BK[:, k] = torch.where(alive_B, here_B + 1, nodes + 1).cpu()
    return needed_BK


def _first(spans: Sequence[AnswerSpan], most: int) -> list[AnswerSpan]:
    """As many whole answers from the front as have at most ``most`` examples together, but at least one."""
    some: list[AnswerSpan] = []
    for span in spans:
        if some and sum(each.count for each in some) + span.count > most:
            break
        some.append(span)
    return some
