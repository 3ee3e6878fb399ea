"""What a step of the engine reports."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.completion import FinishReason, Stats, TokenLogprob


@dataclass(frozen=True)
class Event:
    """What one request emitted in one step. The last event of a request carries its finish reason."""

    number: int
    """The request, as :meth:`Engine.add` named it."""
    token_ids: Sequence[int]
    """Cropped already: everything here belongs to the text."""
    finish_reason: FinishReason | None
    ended_by: str | None
    """What stopped it: "id" (the last id stops and is not text) or "matcher"; None otherwise."""
    stats: Stats
    error: Exception | None = None
    """With the finish reason "error": what went wrong for this request alone."""
    logprobs: Sequence[TokenLogprob] | None = None
    """One for each of ``token_ids``; None unless asked for."""
