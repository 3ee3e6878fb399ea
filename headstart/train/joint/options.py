"""What can be chosen about training heads and model together. The docs of the fields are the command line's help."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headstart.errors import InvalidParameterError
from headstart.ranges import check_above_zero, check_least, check_share


@dataclass(frozen=True, kw_only=True)
class JointOptions:
    """Options of :func:`headstart.train.joint.run.train_joint`.

    Raises:
        InvalidParameterError: a value is outside its range.
    """

    heads: str = "auto"
    """Trained heads to begin with: a directory or a hub id; "auto" takes the model's own."""
    shards: Path | None = None
    """Directory of recorded answers of the untouched model; by default the one that the heads were trained on, HEADS/run/shards."""
    backbone: Literal["lora", "full"] = "lora"
    """lora: small matrices beside the model's own, which stay; full: the model's own."""
    layers: int | None = None
    """Only the last so many layers of the model learn, so that the backward pass ends there; all of them by default."""
    rank: int = 32
    """Of the LoRA matrices."""
    alpha: float = 16.0
    """LoRA's strength: what its matrices give counts alpha / rank."""
    dropout: float = 0.05
    """Of what the LoRA matrices read."""
    target: Literal["distill", "tokens"] = "distill"
    """What the model itself is held to: distill is the untouched model's distribution (answers of its own), tokens the answers."""
    soft_targets: float = 0.8
    """How much of the heads' target is the untouched model's distribution instead of the token it chose."""
    lr: float = 2.5e-4
    """Peak learning rate of the model."""
    heads_rate: float = 4.0
    """The heads learn at so many times that rate."""
    head_weight: float = 0.1
    """What the heads' losses count for the model in the end, head k this times 0.8^k; it rises from 0 along a quarter of a sine."""
    epochs: float = 1.0
    """Times that each answer is trained on, unless --minutes says otherwise."""
    minutes: float | None = None
    """About how long the training may take. Turned into a number of steps once, at the start."""
    length: int = 512
    """Tokens of a row, in which several texts lie one after another; texts that are longer are cut."""
    batch: int = 8
    """Rows a step."""
    rows_at_once: int = 2
    """Rows of a pass: fewer take less memory."""
    checkpointing: bool = False
    """Compute the layers' insides twice instead of keeping them, for less memory."""
    dtype: Literal["auto", "bfloat16", "float32"] = "auto"
    """Precision of the computation and of the model that is written; "auto" computes in the faster one here, and writes bfloat16
    where the processor has it. What is trained is kept in float32."""
    seed: int = 0
    """Everything random follows from it."""
    resume: bool = False
    """Go on with the run that was interrupted in the output directory."""
    quiet: bool = False
    """No progress on stderr."""

    tensorboard: bool = False
    """Write the curves for TensorBoard, too: tensorboard --logdir OUTPUT/run/tensorboard."""

    def __post_init__(self) -> None:
        check_least(self, 1, "layers", "rank", "batch", "rows_at_once")
        check_least(self, 16, "length")
        check_above_zero(self, "alpha", "lr", "heads_rate", "epochs", "minutes")
        check_share(self, "soft_targets")
        if self.backbone == "full":
            for name in ("rank", "alpha", "dropout"):
                if getattr(self, name) != getattr(JointOptions, name):
                    raise InvalidParameterError(f"{name} is of LoRA's matrices, and backbone is 'full'; leave one out")
        if not 0 <= self.head_weight < math.inf:
            raise InvalidParameterError(f"head_weight is {self.head_weight}; expected 0 or more")
        if not 0 <= self.dropout < 1:
            raise InvalidParameterError(f"dropout is {self.dropout}; expected 0 or more and less than 1")

    @property
    def identity(self) -> dict[str, object]:
        """What has to stay the same when a run is resumed: all but how it is shown."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in {"resume", "quiet", "tensorboard"}}
        return {**values, "shards": None if self.shards is None else str(self.shards)}
