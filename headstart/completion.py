"""What comes back."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

FinishReason = Literal["stop", "length", "cancelled", "error"]
PHASES = ("prefill", "draft", "verify", "accept", "commit", "other")


@dataclass(frozen=True)
class TokenLogprob:
    """What the base model thought of an emitted token: natural logarithms of its raw distribution, before penalties and other
    processors, temperature and filters."""

    token_id: int
    logprob: float
    top: tuple[tuple[int, float], ...] = ()
    """The most likely tokens of the same place with theirs, as many as ``top_logprobs`` asks for, the likeliest first."""


@dataclass
class Stats:
    """How one request was decoded."""

    acceptance: str = "exact"
    """The rule by which guesses were accepted."""
    lossy: bool = False
    """Whether that rule can write another text than the base model's own."""
    weights: str | None = None
    """The format that the model's weights were rounded to ("int8", "int4"), which changes the text; None is the model's own."""
    prompt_tokens: int = 0
    emitted_tokens: int = 0
    steps: int = 0
    """Verify passes of the base model; prefill is not one."""
    proposed_tokens: int = 0
    """Tree nodes proposed, roots left out."""
    accepted_per_depth: list[int] = field(default_factory=list)
    """Entry d counts the steps that accepted at least d + 1 proposed tokens."""
    seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PHASES, 0.0))
    """Wall time of the steps that the request took part in, by phase; neighbours in the batch share it."""

    @property
    def accepted_tokens(self) -> int:
        return sum(self.accepted_per_depth)

    @property
    def tokens_per_step(self) -> float:
        """(emitted - 1) / verify passes; the first token comes from prefill. Plain decoding is exactly 1. NaN without a step."""
        return (self.emitted_tokens - 1) / self.steps if self.steps else float("nan")

    @property
    def decode_seconds(self) -> float:
        """All but prefill."""
        return sum(seconds for phase, seconds in self.seconds.items() if phase != "prefill")

    @property
    def tokens_per_second(self) -> float:
        """Tokens after the first one over the time after prefill. NaN without a step."""
        return (self.emitted_tokens - 1) / self.decode_seconds if self.steps and self.decode_seconds else float("nan")


@dataclass(frozen=True, kw_only=True)
class Completion:
    """One finished text."""

    text: str
    """Cut before the stop string, stop id or end-of-text id that ended it."""
    token_ids: Sequence[int]
    """Everything emitted, the id that ended it included."""
    finish_reason: FinishReason
    seed: int
    """What the noise was keyed by; the same seed and parameters write the same text."""
    prompt_tokens: int
    stats: Stats
    logprobs: Sequence[TokenLogprob] | None = None
    """One for each of ``token_ids``; None unless asked for."""
    error: Exception | None = None
    """With the finish reason "error": what went wrong for this text alone."""


@dataclass(frozen=True, kw_only=True)
class Chunk:
    """A piece of a streamed text: what one step added. The last one carries the finish reason."""

    text: str
    """Never half a character; what could still become a stop string is held back."""
    token_ids: Sequence[int]
    logprobs: Sequence[TokenLogprob] | None = None
    """One for each of ``token_ids``; None unless asked for."""
    finish_reason: FinishReason | None = None
    completion: Completion | None = None
    """On the last chunk: the whole."""
