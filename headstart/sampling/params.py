"""How the next token is chosen from the base model's logits."""

import math
from dataclasses import dataclass

from headstart.errors import InvalidParameterError


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """Parameters of the token rule. The order is: processors, temperature, top-k, top-p, min-p.

    Raises:
        InvalidParameterError: a value is outside its range.
    """

    temperature: float = 0.0
    """0 takes the most likely token; above 0 samples, 1 being the model's own distribution."""
    top_k: int | None = None
    """Keep the k most likely tokens; None keeps all."""
    top_p: float = 1.0
    """Keep the smallest set of tokens whose probability reaches this; in (0, 1]."""
    min_p: float = 0.0
    """Drop tokens less likely than this share of the most likely one; in [0, 1)."""

    def __post_init__(self) -> None:
        if not math.isfinite(self.temperature) or self.temperature < 0:
            raise InvalidParameterError(f"temperature is {self.temperature}; expected 0 (greedy) or a number above 0")
        if self.top_k is not None and self.top_k < 1:
            raise InvalidParameterError(f"top_k is {self.top_k}; expected None (all tokens) or at least 1")
        if not 0 < self.top_p <= 1:
            raise InvalidParameterError(f"top_p is {self.top_p}; expected a number in (0, 1]; 1 keeps every token")
        if not 0 <= self.min_p < 1:
            raise InvalidParameterError(f"min_p is {self.min_p}; expected a number in [0, 1); 0 keeps every token")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0
