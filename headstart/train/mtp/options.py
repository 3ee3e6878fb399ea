"""What can be chosen about multi-token training. The docs of the fields are the command line's help."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headstart.errors import InvalidParameterError
from headstart.ranges import check_above_zero, check_least

_OF_NEW_MODELS = ("vocab_size", "layers", "hidden_size", "attention_heads", "kv_heads", "intermediate_size")
_COUNTS = ("heads", "layers", "hidden_size", "attention_heads", "kv_heads", "intermediate_size", "batch")


@dataclass(frozen=True, kw_only=True)
class MtpOptions:
    """Options of :func:`headstart.train.mtp.run.train_mtp`.

    Raises:
        InvalidParameterError: a value is outside its range.
    """

    text: tuple[Path, ...] = ()
    """A text file, or a directory of them; may be given several times. Without any, the sources of Python's standard library."""
    model: str | None = None
    """Continue this model (a directory or a hub id) instead of training one from scratch."""
    heads: int = 4
    """Tokens that are predicted at each position, the next one included; 1 is ordinary training."""
    head: Literal["layer", "residual", "linear"] = "layer"
    """A head: a transformer layer on the trunk, or a residual block or a linear map on the last hidden state."""
    head_weights: tuple[float, ...] = ()
    """How much a head's loss counts; to be given for each, the next token's first. All the same by default."""
    schedule: Literal["all", "grow", "shrink"] = "all"
    """Train all heads always; or begin with the first and add one after the other; or end with the first alone."""
    tokens: int = 1_000_000
    """Tokens to train on; the text is read again when it is at its end."""
    vocab_size: int = 1024
    """Of the tokenizer of a model from scratch, which is learned from the text."""
    layers: int = 4
    """Of a model from scratch: its trunk and the one that is its first head."""
    hidden_size: int = 128
    """Of a model from scratch."""
    attention_heads: int = 4
    """Of a model from scratch."""
    kv_heads: int = 4
    """Of a model from scratch."""
    intermediate_size: int = 384
    """Of a model from scratch."""
    length: int = 128
    """Positions of a training text."""
    batch: int = 8
    """Training texts a step."""
    lr: float = 3e-3
    """Peak learning rate."""
    held_out: int = 20_000
    """Tokens that the figures in the model card are taken from, at most. Every twentieth document is kept from training for
    that."""
    seed: int = 0
    """Everything random follows from it."""
    resume: bool = False
    """Go on with the run that was interrupted in the output directory."""
    quiet: bool = False
    """No progress on stderr."""
    tensorboard: bool = False
    """Write the curves for TensorBoard, too: tensorboard --logdir OUTPUT/run/tensorboard."""

    def __post_init__(self) -> None:
        check_least(self, 1, *_COUNTS)
        check_least(self, 64, "length")
        if self.layers < 2 and self.model is None:
            raise InvalidParameterError("layers is 1; expected at least 2: a trunk, and the layer that is the first head")
        if self.vocab_size < 512:
            raise InvalidParameterError(
                f"vocab_size is {self.vocab_size}; expected at least 512, which are 256 bytes and some pieces"
            )
        if self.hidden_size % self.attention_heads or self.attention_heads % self.kv_heads:
            raise InvalidParameterError(
                f"{self.attention_heads} attention heads and {self.kv_heads} key/value heads do not divide a hidden size of"
                f" {self.hidden_size}; expected attention_heads to divide it, and kv_heads to divide attention_heads"
            )
        if self.hidden_size // self.attention_heads % 2:
            raise InvalidParameterError(
                f"an attention head would have size {self.hidden_size // self.attention_heads}; expected an even one (hidden_size /"
                " attention_heads)"
            )
        for name in ("tokens", "held_out"):
            if getattr(self, name) < 16 * (self.length + self.heads):
                least = 16 * (self.length + self.heads)
                raise InvalidParameterError(
                    f"{name} is {getattr(self, name)}; expected at least {least}, 16 texts of {self.length}"
                )
        check_above_zero(self, "lr")
        for name in _OF_NEW_MODELS:
            if self.model is not None and getattr(self, name) != getattr(MtpOptions, name):
                raise InvalidParameterError(f"both model and {name} were given; {self.model} is as it is, so leave {name} out")
        if self.head_weights:
            self._check_weights()

    def _check_weights(self) -> None:
        if len(self.head_weights) != self.heads:
            raise InvalidParameterError(
                f"{len(self.head_weights)} head_weights for {self.heads} heads; expected one for each,"
                " --head-weights 1 --head-weights 0.5 for two"
            )
        if not all(0 <= weight < math.inf for weight in self.head_weights) or not self.head_weights[0]:
            raise InvalidParameterError(f"head_weights are {self.head_weights}; expected numbers from 0 on, the first one above 0")

    @property
    def identity(self) -> dict[str, object]:
        """What has to stay the same when a run is resumed: all but how it is shown."""
        shown = {"resume", "quiet", "tensorboard"}
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in shown}
        return {**values, "text": [str(path) for path in self.text]}

    @property
    def weights(self) -> tuple[float, ...]:
        """One for each head."""
        return self.head_weights or (1.0,) * self.heads

    @property
    def steps(self) -> int:
        return max(1, self.tokens // (self.length * self.batch))
