"""Predicted beside measured: the chosen size against plain decoding, in turn, on prompts that nothing was learned from."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from headstart.drafters.plain import PlainDrafter
from headstart.drafters.protocol import Drafter
from headstart.engine.engine import Engine
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.sampling.noise import fold
from headstart.sampling.params import SamplingParams


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


@dataclass
class _Run:
    """One batch decoded one way; only steps in which all rows ran count."""

    texts: list[list[int]]
    tokens: int = 0
    steps: int = 0
    seconds: float = 0.0


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
            name: _decode(engine, batch, tokens, stop_ids, drafter=name, nodes=size, params=params, seed=fold(seed, number))
            for name, size in ways
        }
        plain_runs.append(runs["none"])
        tree_runs.append(runs[drafter.facts.name])
    pairs = [pair for t, p in zip(tree_runs, plain_runs, strict=True) for pair in zip(t.texts, p.texts, strict=True)]
    counted = [(tree, plain) for tree, plain in zip(tree_runs, plain_runs, strict=True) if tree.steps and plain.steps]
    if not counted:
        return None
    tree_runs, plain_runs = [tree for tree, _ in counted], [plain for _, plain in counted]
    ratios = [_rate([tree]) / _rate([plain]) for tree, plain in counted]
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
        measured_speedup=_rate(tree_runs) / _rate(plain_runs),
        speedup_q1=q1,
        speedup_q3=q3,
    )


def _rate(runs: Sequence[_Run]) -> float:
    return sum(run.tokens for run in runs) / sum(run.seconds for run in runs)


def _decode(
    engine: Engine,
    batch: Sequence[Sequence[int]],
    tokens: int,
    stop_ids: frozenset[int],
    *,
    drafter: str,
    nodes: int,
    params: SamplingParams,
    seed: int,
) -> _Run:
    numbers = {}
    for i, ids in enumerate(batch):
        request = Request(
            prompt_ids=ids,
            params=params,
            seed=fold(seed, i),
            max_new_tokens=tokens,
            stop_ids=stop_ids,
            drafter=drafter,
            nodes=nodes,
        )
        numbers[engine.add(request)] = i
    run = _Run([[] for _ in batch])
    finished = False
    while engine.has_work:
        full = all(run.texts)  # every row has its first token, so that this step decodes all of them
        began = time.perf_counter()
        events = engine.step()
        seconds = time.perf_counter() - began
        for event in events:
            if event.error is not None:
                raise event.error
            run.texts[numbers[event.number]] += event.token_ids
        if full and not finished:
            run.tokens += sum(len(event.token_ids) for event in events)
            run.steps += 1
            run.seconds += seconds
        finished = finished or any(event.finish_reason is not None for event in events)
    return run
