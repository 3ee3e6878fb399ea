"""Predicted beside measured: the chosen size against plain decoding, in turn, on prompts that nothing was learned from."""

import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headstart.drafters.plain import PlainDrafter
from headstart.drafters.protocol import Drafter
from headstart.engine.engine import Engine
from headstart.models.protocol import BaseModel
from headstart.sampling.noise import fold
from headstart.sampling.params import SamplingParams
from headstart.tuning.batch_run import decode_batch, rate


@dataclass(frozen=True, kw_only=True)
class Verified:
    """One batch size and tree size."""

    rows: int
    nodes: int
    texts: int
    same_texts: int
    """Texts whose ids are those of plain decoding."""
    steps: int
    predicted_tokens: float
    """Tokens per step."""
    measured_tokens: float
    predicted_speedup: float
    measured_speedup: float
    """Tokens per second against plain decoding, all batches together."""
    speedup_q1: float
    speedup_q3: float
    """Quartiles over the batches."""

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def verify(
    model: BaseModel,
    drafter: Drafter,
    prompts: Sequence[Sequence[int]],
    *,
    rows: int,
    nodes: int,
    tokens: int,
    stop_ids: frozenset[int],
    params: SamplingParams,
    seed: int,
    predicted_tokens: float,
    predicted_speedup: float,
) -> Verified | None:
    """Decode the prompts in batches of ``rows``, each both ways. Steps count until the first text of a batch ends.

    None where no step counted: in every batch a text ended before all of them had begun.
    """
    engine = Engine(model, {"none": PlainDrafter(), drafter.facts.name: drafter})
    batches = [prompts[i : i + rows] for i in range(0, len(prompts) - rows + 1, rows)]
    assert batches, f"{len(prompts)} prompts make no batch of {rows}"
    plain_runs, tree_runs = [], []
    for number, batch in enumerate(batches):
        ways = [("none", 1), (drafter.facts.name, nodes)]
        if number % 2:
            ways.reverse()
        runs = {
            name: decode_batch(engine, batch, tokens, stop_ids, drafter=name, nodes=size, params=params, seed=fold(seed, number))
            for name, size in ways
        }
        plain_runs.append(runs["none"])
        tree_runs.append(runs[drafter.facts.name])
    pairs = [pair for t, p in zip(tree_runs, plain_runs, strict=True) for pair in zip(t.texts, p.texts, strict=True)]
    counted = [(tree, plain) for tree, plain in zip(tree_runs, plain_runs, strict=True) if tree.steps and plain.steps]
    if not counted:
        return None
    tree_runs, plain_runs = [tree for tree, _ in counted], [plain for _, plain in counted]
    ratios = [rate([tree]) / rate([plain]) for tree, plain in counted]
    q1, _, q3 = statistics.quantiles(ratios, n=4, method="inclusive") if len(ratios) > 1 else ratios * 3
    steps = sum(run.steps for run in tree_runs)
    return Verified(
        rows=rows,
        nodes=nodes,
        texts=len(pairs),
        same_texts=sum(tree_ids == plain_ids for tree_ids, plain_ids in pairs),
        steps=steps,
        predicted_tokens=predicted_tokens,
        measured_tokens=sum(run.tokens for run in tree_runs) / (steps * rows),
        predicted_speedup=predicted_speedup,
        measured_speedup=rate(tree_runs) / rate(plain_runs),
        speedup_q1=q1,
        speedup_q3=q3,
    )
