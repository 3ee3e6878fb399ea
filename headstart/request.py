"""What the engine is asked for: token ids in, nothing of text."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headstart.sampling.params import SamplingParams


class Matcher(Protocol):
    """Watches emitted ids for an end that is not an id, a stop string for instance. Made above the engine."""

    def feed(self, ids: Sequence[int]) -> int | None:
        """Take the next ids; the number of them to keep (the last one completing the end), or None to go on."""


@dataclass(frozen=True, kw_only=True)
class Request:
    """One text to write. Validated by :meth:`Engine.add`."""

    prompt_ids: Sequence[int]
    params: SamplingParams = field(default_factory=SamplingParams)
    seed: int = 0
    max_new_tokens: int | None = None
    """None goes on to the end of the context."""
    min_new_tokens: int = 0
    """Ids that would stop are forbidden before so many ids. A matcher is fed all ids and has to know the number itself."""
    stop_ids: frozenset[int] = frozenset()
    """Ids that end the text, the end-of-text ids among them."""
    matcher: Matcher | None = None
    drafter: str = "none"
    """The name of a drafter that the engine holds; "none" is plain decoding."""
    nodes: int | None = None
    """How many tree nodes a pass may hold for this row, the root included; None takes the engine's."""
    acceptance: str = "exact"
    """The name of the rule by which guesses are accepted: "exact"; "rejection", exact in distribution and, like the lossy ones,
    repeated by a seed only with the same drafter, tree and budget; "typical" or "threshold", lossy."""
    acceptance_options: Mapping[str, float] = field(default_factory=dict)
    """The rule's parameters by name, where they are not the usual ones."""
    draft_temperature: float | None = None
    """Above 0: candidates are drawn from the drafter's distribution at this temperature. None takes them by rank; with "rejection",
    which needs them drawn, at the temperature of the text."""
    logprobs: int | None = None
    """Report what the base model thought of each token and of so many of the likeliest at its place; None reports nothing."""
    max_context: int | None = None
    """A context length below the model's."""
