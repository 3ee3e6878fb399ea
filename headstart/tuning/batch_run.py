"""One batch of prompts decoded one way, with the time of the steps in which all rows ran."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from headstart.engine.engine import Engine
from headstart.request import Request
from headstart.sampling.noise import fold
from headstart.sampling.params import SamplingParams


@dataclass
class BatchRun:
    """Only steps in which all rows ran count, and none after the first text has ended."""

    texts: list[list[int]]
    tokens: int = 0
    steps: int = 0
    seconds: float = 0.0
    guesses: int = 0
    """Proposed in all steps of all rows, counted or not."""
    row_steps: int = 0
    """All of them."""

    @property
    def nodes(self) -> float:
        """Of a row's tree in the mean, the root included."""
        return 1 + self.guesses / self.row_steps if self.row_steps else 1.0


def rate(runs: Sequence[BatchRun]) -> float:
    """Tokens per second, all runs together."""
    return sum(run.tokens for run in runs) / sum(run.seconds for run in runs)


def decode_batch(
    engine: Engine,
    batch: Sequence[Sequence[int]],
    tokens: int,
    stop_ids: frozenset[int],
    *,
    drafter: str,
    nodes: int | None,
    params: SamplingParams,
    seed: int,
) -> BatchRun:
    """Write up to ``tokens`` tokens after each prompt, all at once. Prompt i samples with ``fold(seed, i)``.

    ``nodes`` None leaves the size of trees to the engine.
    """
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
    run = BatchRun([[] for _ in batch])
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
            if event.finish_reason is not None:
                run.guesses += event.stats.proposed_tokens
                run.row_steps += event.stats.steps
        if full and not finished:
            run.tokens += sum(len(event.token_ids) for event in events)
            run.steps += 1
            run.seconds += seconds
        finished = finished or any(event.finish_reason is not None for event in events)
    return run
