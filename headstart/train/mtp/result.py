"""What a multi-token training run came to."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headstart.train.mtp.evaluation import HeldOut
from headstart.train.mtp.measurement import Measured


@dataclass(frozen=True)
class MtpResult:
    """Figures of one run."""

    directory: Path
    text_tokens: int
    """Of the text to train on."""
    steps: int
    tokens: int
    """Trained on, repeats counted."""
    operations: float
    """Floating-point operations of the training steps (see :class:`MtpTrainer`)."""
    next_token_operations: float
    """What a token would take with the first head alone."""
    seconds: float
    held_out: HeldOut
    measured: list[Measured] = field(default_factory=list)
    """Self-speculation at each temperature; empty for a model without further heads."""
    on_true_text: dict[int, float] = field(default_factory=dict)
    """Tokens per step by tree size, were the model to write the held-out text: the heads' guesses at each of its positions, decoded
    step by step with trees grown anew, each half of the pieces with the calibration of the other."""

    @property
    def equal_compute_tokens(self) -> int:
        """Tokens that a model with the first head alone can be trained on in the same operations."""
        return round(self.operations / self.next_token_operations)

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "directory": str(self.directory)}
