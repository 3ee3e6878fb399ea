"""A batch decoded by our own engine, every step of it timed."""

import time
from collections.abc import Sequence

from headstart.bench.run import Run, Text
from headstart.completion import Stats
from headstart.engine.engine import Engine
from headstart.request import Request
from headstart.text.output import TextOutput
from headstart.text.tokenizer import Tokenizer

TEXT = "text"
OUTSIDE = "outside"
"""Parts of the time after the prompts' besides the engine's own phases: making text of ids, and what none of them claims."""


def decode(engine: Engine, tokenizer: Tokenizer | None, requests: Sequence[Request]) -> Run:
    """Hand all requests over at once and step until the last one has ended, text included. The engine must be idle.

    Raises whatever a request fails with.
    """
    began = last = time.perf_counter()
    seen: dict[int, _Seen] = {engine.add(request): _Seen(TextOutput(tokenizer, (), 0)) for request in requests}
    seconds: dict[str, float] = {}
    text_seconds, passes = 0.0, 0
    gaps: list[float] = []
    while engine.has_work:
        phases: dict[str, float] = {}
        for event in engine.step():
            stepped = time.perf_counter()
            if event.error is not None:
                raise event.error
            row = seen[event.number]
            for phase, spent in row.news(event.stats).items():  # all rows of a step are charged with the whole of it
                phases[phase] = max(phases.get(phase, 0.0), spent)
            row.output.push(event.token_ids, last=event.finish_reason is not None, ended_by=event.ended_by)
            row.ids += event.token_ids
            row.stats = event.stats
            last = time.perf_counter()
            text_seconds += last - stepped
            gaps += row.mark(last - began)
        for phase, spent in phases.items():
            seconds[phase] = seconds.get(phase, 0.0) + spent
        passes += any(spent for phase, spent in phases.items() if phase != "prefill")
    whole = last - began
    prefill = seconds.pop("prefill", 0.0)
    seconds[TEXT] = text_seconds
    seconds[OUTSIDE] = whole - prefill - sum(seconds.values())
    return Run(
        texts=[row.text(len(request.prompt_ids)) for row, request in zip(seen.values(), requests, strict=True)],
        seconds=whole,
        prefill=prefill,
        gaps=gaps,
        passes=passes,
        phases=seconds,
    )


class _Seen:
    """What one request has given so far."""

    def __init__(self, output: TextOutput) -> None:
        self.output = output
        self.ids: list[int] = []
        self.stats = Stats()
        self._charged: dict[str, float] = {}
        self._times: list[float] = []

    def news(self, stats: Stats) -> dict[str, float]:
        """Seconds by phase since the last time."""
        news = {phase: spent - self._charged.get(phase, 0.0) for phase, spent in stats.seconds.items()}
        self._charged = dict(stats.seconds)
        return news

    def mark(self, now: float) -> list[float]:
        """A piece came: the time since the one before it."""
        self._times.append(now)
        return [now - self._times[-2]] if len(self._times) > 1 else []

    def text(self, prompt_tokens: int) -> Text:
        return Text(
            ids=self.ids,
            prompt_tokens=prompt_tokens,
            first=self._times[0],
            last=self._times[-1],
            steps=self.stats.steps,
            proposed=self.stats.proposed_tokens,
            accepted_per_depth=list(self.stats.accepted_per_depth),
        )
