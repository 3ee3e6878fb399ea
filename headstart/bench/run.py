"""One batch decoded by one contestant: what was written and when."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Text:
    """One answer. Times are in seconds from the moment that the batch was handed over."""

    ids: list[int]
    """Everything emitted, the id that ended it included."""
    prompt_tokens: int
    first: float
    """When the first token was there."""
    last: float
    steps: int = 0
    """Passes of the base model after the prompt's; 0 where nobody tells."""
    proposed: int = 0
    """Guesses that were checked; 0 where nobody tells."""
    accepted_per_depth: list[int] = field(default_factory=list)
    """Entry d counts the steps that accepted at least d + 1 guesses."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """A batch. Times are in seconds."""

    texts: list[Text]
    seconds: float
    """From the hand-over to the last piece of text."""
    prefill: float
    """Of it, the prompts' passes."""
    gaps: list[float] = field(default_factory=list)
    """Between two pieces of one text, of all texts."""
    passes: int = 0
    """Steps of the whole batch after the prompts'."""
    phases: dict[str, float] = field(default_factory=dict)
    """Where the time after the prompts' went; empty where nobody tells."""

    @property
    def tokens(self) -> int:
        return sum(len(text.ids) for text in self.texts)

    @property
    def decode_tokens(self) -> int:
        """All but each text's first one, which comes from its prompt's pass."""
        return sum(len(text.ids) - 1 for text in self.texts)

    @property
    def decode(self) -> float:
        """Seconds that are not the prompts'."""
        return self.seconds - self.prefill

    def to_dict(self) -> dict[str, Any]:
        """Times to the microsecond."""
        return {name: _short(value) for name, value in asdict(self).items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Run":
        return cls(**{**data, "texts": [Text(**text) for text in data["texts"]]})


def _short(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    return [_short(inner) for inner in value] if isinstance(value, list) else value
