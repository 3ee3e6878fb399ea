"""Runs many conversations over one engine and keeps its rows full."""

import heapq
import time
from collections.abc import Callable, Generator, Iterable, Sequence

import torch

from headstart.engine.engine import Engine
from headstart.errors import TrainingError
from headstart.train.recorder import Recorder
from headstart.train.scripts import Ask, Reply, Script
from headstart.train.shards import Answer

_RATE_AFTER = 16  # steps


class Pool:
    """One engine and its recorder, working through scripts. The order of everything depends on the scripts alone."""

    def __init__(self, engine: Engine, recorder: Recorder, *, max_rows: int) -> None:
        self._engine = engine
        self._recorder = recorder
        self._max_rows = max_rows

    def run(self, scripts: Sequence[Script], on_tokens: Callable[[int], None]) -> list[list[Answer]]:
        """Run all scripts to their end; their answers in the scripts' order. ``on_tokens`` hears of answer tokens step by step.

        Raises:
            TrainingError: the base model failed on a conversation.
        """
        answers: list[list[Answer]] = [[] for _ in scripts]
        for tokens, _ in self._steps(scripts, answers):
            on_tokens(tokens)
        return answers

    def rate(self, scripts: Sequence[Script], seconds: float) -> float:
        """Tokens per second with full rows, measured for about ``seconds``; what was written is thrown away.

        Questions count as well: measured for a short time, most of what is written is questions.
        """
        steps = self._steps(scripts, [[] for _ in scripts])
        # the first steps prefill all rows at once, which never happens again
        tokens, begun = 0, time.perf_counter()
        for number, (_, count) in enumerate(steps):
            if number == _RATE_AFTER:
                tokens, begun = 0, time.perf_counter()
                continue
            tokens += count
            if number > _RATE_AFTER and time.perf_counter() - begun > seconds:
                break
        elapsed = time.perf_counter() - begun
        steps.close()
        return max(tokens, 1) / max(elapsed, 1e-9)

    def _steps(self, scripts: Sequence[Script], answers: list[list[Answer]]) -> Generator[tuple[int, int], None, None]:
        """One engine step after another; yields how many tokens of answers, and of anything, each gave.

        Whoever stops listening leaves no row behind.
        """
        ready: list[tuple[int, int, Ask]] = []
        running: dict[int, tuple[int, Ask, list[int]]] = {}

        def go_on(number: int, reply: Reply | None) -> None:
            try:
                # a script that has not begun takes no reply: send(None) starts it
                ask = scripts[number].send(reply)  # type: ignore[arg-type]
            except StopIteration as end:
                answers[number] = end.value
            else:
                heapq.heappush(ready, (-ask.stages, number, ask))

        for number in range(len(scripts)):
            go_on(number, None)
        try:
            while ready or running:
                while ready and len(running) < self._max_rows:
                    _, number, ask = heapq.heappop(ready)
                    running[self._engine.add(ask.request)] = (number, ask, [])
                tokens = everything = 0
                for event in self._engine.step():
                    number, ask, ids = running[event.number]
                    if event.error is not None:
                        raise TrainingError(f"the base model failed on a training conversation: {event.error}") from event.error
                    ids.extend(event.token_ids)
                    everything += len(event.token_ids)
                    tokens += len(event.token_ids) if ask.answer else 0
                    if event.finish_reason is not None:
                        del running[event.number]
                        go_on(number, Reply(ids, self._recorder.take(event.number, len(ids) - 1)))
                yield tokens, everything
        finally:
            self._drop(running)

    @torch.inference_mode()  # the cache was made in it, and giving a row back moves another one
    def _drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            self._engine.cancel(number)
            self._recorder.forget(number)
