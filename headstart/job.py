"""One request of a caller's: what the engine is asked for, and the text that grows from what it answers."""

import time

from headstart.completion import Chunk, Completion, FinishReason, Stats, TokenLogprob
from headstart.engine.event import Event
from headstart.request import Request
from headstart.text.output import TextOutput


class Job:
    """A request, its text so far, and the number that the engine knows it by once it is queued."""

    def __init__(self, request: Request, output: TextOutput, threads: int | None) -> None:
        self.request = request
        self.threads = threads
        self.number = -1
        self._output = output
        self._token_ids: list[int] = []
        self._logprobs: list[TokenLogprob] | None = None if request.logprobs is None else []

    def chunk(self, event: Event) -> Chunk:
        """What an event adds. Where its ids cannot be made into text, the chunk ends the request with the reason "error"."""
        began = time.perf_counter()
        self._token_ids += event.token_ids
        if self._logprobs is not None:
            self._logprobs += event.logprobs or ()
        text, reason, error = "", event.finish_reason, event.error
        try:
            text = self._output.push(event.token_ids, last=reason is not None, ended_by=event.ended_by)
        except Exception as failure:  # noqa: BLE001  (the tokenizer failed on this text: reported with it, and the others go on)
            reason, error = "error", error or failure
        event.stats.seconds["other"] += time.perf_counter() - began
        return Chunk(
            text=text,
            token_ids=tuple(event.token_ids),
            logprobs=None if self._logprobs is None else tuple(event.logprobs or ()),
            finish_reason=reason,
            completion=None if reason is None else self._completion(reason, event.stats, error),
        )

    def _completion(self, reason: FinishReason, stats: Stats, error: Exception | None) -> Completion:
        return Completion(
            text=self._output.text,
            token_ids=tuple(self._token_ids),
            finish_reason=reason,
            seed=self.request.seed,
            prompt_tokens=len(self.request.prompt_ids),
            stats=stats,
            logprobs=None if self._logprobs is None else tuple(self._logprobs),
            error=error,
        )


def broken_off(number: int, error: BaseException) -> Event:
    """The end of a request whose step broke off: with the error, or cancelled where it was an interruption."""
    if isinstance(error, Exception):
        return Event(number, (), "error", None, Stats(), error)
    return Event(number, (), "cancelled", None, Stats())
