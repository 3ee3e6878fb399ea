"""What can be chosen about a training run. The docs of the fields are the command line's help."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headstart.errors import InvalidParameterError

DEFAULT_TOKENS = 1_000_000
DEFAULT_DRAFT_VOCAB = 16_384


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Options of :func:`headstart.train.run.train`.

    Raises:
        InvalidParameterError: a value is outside its range.
    """

    data: tuple[Path, ...] = ()
    """JSONL files with "messages", "prompt"/"response" or "text" rows. Without any, the model writes its own questions."""
    keep_answers: bool = False
    """Train on the answers in the data as they are, instead of having the model write them anew."""
    minutes: float | None = None
    """About how long the whole run may take, data included. Turned into token and step counts once, at the start."""
    tokens: int | None = None
    """Answer tokens to train on; without this and --minutes a million, or all there are in the data."""
    max_new_tokens: int = 160
    """Longest answer that the model writes."""
    max_rows: int = 64
    """Answers written side by side."""
    num_heads: int = 4
    """How many tokens ahead are guessed."""
    num_layers: int = 1
    """Blocks per head."""
    block: Literal["residual", "mlp"] = "residual"
    """A head's block: the paper's residual one, or a two-layer MLP."""
    projection: Literal["shared", "own"] = "shared"
    """Use the model's LM head, or give each head its own copy of it (much larger)."""
    draft_vocab_size: int = DEFAULT_DRAFT_VOCAB
    """Heads choose from so many frequent tokens; 0 is the whole vocabulary."""
    condition_on_root: bool = True
    """Heads also read the token that the model has just chosen."""
    condition_size: int | None = None
    """Width of the layer that reads it; twice the hidden size by default."""
    epochs: float = 4.0
    """Times that each token is trained on, unless --minutes says otherwise."""
    batch: int = 2048
    """Positions a step."""
    lr: float = 1e-3
    """Peak learning rate."""
    soft_targets: float = 0.8
    """How much of the target is the model's own distribution instead of the token it chose; 0 is the token alone."""
    patience: int = 3
    """Stop after so many evaluations without gain."""
    seed: int = 0
    """Everything random follows from it."""
    resume: bool = False
    """Go on with the run that was interrupted in the output directory."""
    quiet: bool = False
    """No progress on stderr."""

    def __post_init__(self) -> None:
        for name in ("max_new_tokens", "batch", "tokens"):
            value = getattr(self, name)
            if value is not None and value < 2:
                raise InvalidParameterError(f"{name} is {value}; expected at least 2")
        for name in ("max_rows", "num_heads", "patience"):
            if getattr(self, name) < 1:
                raise InvalidParameterError(f"{name} is {getattr(self, name)}; expected at least 1")
        for name in ("lr", "epochs", "minutes"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise InvalidParameterError(f"{name} is {value}; expected a number above 0")
        if self.draft_vocab_size < 0:
            raise InvalidParameterError(f"draft_vocab_size is {self.draft_vocab_size}; expected 0 (all tokens) or more")
        if not 0 <= self.soft_targets <= 1:
            raise InvalidParameterError(f"soft_targets is {self.soft_targets}; expected 0 to 1")
        if self.minutes is not None and self.tokens is not None:
            raise InvalidParameterError("both minutes and tokens were given; expected one of them")
        if self.keep_answers and not self.data:
            raise InvalidParameterError("keep_answers was given without data; name the files that hold the answers")

    @property
    def identity(self) -> dict[str, object]:
        """What has to stay the same when a run is resumed: all but how it is shown."""
        skipped = {"resume", "quiet"}
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in skipped}
        return {**values, "data": [str(path) for path in self.data]}
