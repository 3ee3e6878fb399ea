"""A draft model and how it is used; what ``load(draft_model=...)`` takes where a name alone is not enough."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headstart.errors import InvalidParameterError

if TYPE_CHECKING:  # asking for help makes these options, and loads no transformers
    from transformers import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class DraftOptions:
    """Whatever is chosen changes the speed and never the text.

    Raises:
        InvalidParameterError: a value is outside its range.
    """

    model: "str | Path | PreTrainedModel"
    """A directory, a hub id, a GGUF file, "bundled" or a loaded model."""
    text: bool = False
    """Draft through text, for a draft model with another tokenizer: what it writes is read again by the base model's own."""
    confidence: float = 0.3
    """A guess whose chance of being reached is below this is not drafted on: the step ends there. 0 goes on to the budget's end."""
    branches: int | None = None
    """Guesses for one place at most; 1 is a chain, None as many as are likely enough for the budget."""
    weights: str | None = None
    """The format that the draft model's weights are rounded to on a CPU, "int8" for instance; None rounds nothing."""

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise InvalidParameterError(f"the draft's confidence is {self.confidence}; expected a chance, 0 to 1")
        if self.branches is not None and self.branches < 1:
            raise InvalidParameterError(f"the draft's branches are {self.branches}; expected at least 1, a chain, or None")
