"""What can be chosen about a training run. The docs of the fields are the command line's help."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from headstart.errors import InvalidParameterError
from headstart.ranges import check_above_zero, check_least, check_share

DEFAULT_TOKENS = 1_000_000
DEFAULT_DRAFT_VOCAB = 16_384


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """Options of :func:`headstart.train.run.train`.

    Raises:
        InvalidParameterError: a value is outside its range.
    """

    data: tuple[Path, ...] = ()
    """JSONL or Parquet files with "messages", "conversations", "prompt"/"response" or "text" rows, or hub:NAME[@CONFIG][:SPLIT] for
    a data set of the hub. Without any, the model writes its own questions."""
    keep_answers: bool = False
    """Train on the answers in the data as they are, instead of having the model write them anew."""
    endpoint: str | None = None
    """Have the answers written by an OpenAI-compatible endpoint, http://host:8000/v1 for instance, that serves this same model."""
    endpoint_model: str | None = None
    """The model's name there."""
    api_key_env: str | None = None
    """The environment variable that holds the endpoint's key."""
    endpoint_parallel: int = 16
    """Conversations that the endpoint is asked about at the same time."""
    endpoint_timeout: float = 120.0
    """Seconds that an answer may take."""
    endpoint_tries: int = 5
    """How often a question is asked before its row counts as failed."""
    shards: Path | None = None
    """Train on the answers that another run of this model has recorded there, in its OUTPUT/run/shards, instead of having any
    made: the same data for other heads. They stay where they are."""
    max_bad_rows: int = 100
    """Rows that may be malformed, or that the endpoint may fail at, before the run ends; a resumed run counts from none."""
    decontaminate: tuple[Path, ...] = ()
    """JSONL files of evaluation prompts to keep out of the training data, besides the bundled ones."""
    decontaminate_words: int = 8
    """How many words in a row make a text too like an evaluation prompt; 0 leaves all in."""
    minutes: float | None = None
    """About how long the whole run may take, data included. Turned into token and step counts once, at the start."""
    tokens: int | None = None
    """Answer tokens to train on; without this and --minutes a million, or all there are in the data."""
    cache: Literal["auto", "disk", "none"] = "auto"
    """Where the model's hidden states are kept for training: on the disk; or nowhere, so that the model runs in every step,
    which is slow. auto takes the disk if they fit there."""
    max_new_tokens: int = 160
    """Longest answer that the model writes."""
    max_rows: int = 64
    """Answers written side by side."""
    kind: Literal["medusa", "hydra"] = "medusa"
    """medusa: all heads guess at once; hydra: each head also reads the guesses before its own, so guessing takes a step a head."""
    num_heads: int = 4
    """How many tokens ahead are guessed."""
    num_layers: int = 1
    """Blocks per head."""
    block: Literal["residual", "mlp"] = "residual"
    """A head's block: the paper's residual one, or a two-layer MLP."""
    projection: Literal["shared", "own", "low-rank"] = "shared"
    """shared: the model's LM head; own: each head its own copy of it (much larger); low-rank: the LM head, and for each head a
    matrix of low rank that is added to it."""
    projection_rank: int | None = None
    """Of what a low-rank projection adds; 32 by default."""
    draft_vocab_size: int = DEFAULT_DRAFT_VOCAB
    """Heads choose from so many frequent tokens; 0 is the whole vocabulary."""
    condition_on_root: bool = True
    """Heads also read the token that the model has just chosen."""
    condition_size: int | None = None
    """Width of the layer that reads it; twice the hidden size by default."""
    epochs: float = 4.0
    """Times that each token is trained on. With --minutes the data are as many as leave time for that; where there are fewer, up to
    ten."""
    batch: int = 512
    """Positions a step."""
    lr: float = 2e-3
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
    tensorboard: bool = False
    """Write the curves for TensorBoard, too: tensorboard --logdir OUTPUT/run/tensorboard."""

    def __post_init__(self) -> None:
        check_least(self, 2, "max_new_tokens", "batch", "tokens")
        check_least(self, 1, "max_rows", "num_heads", "patience", "endpoint_parallel", "endpoint_tries")
        check_least(self, 1, "projection_rank", "condition_size")
        check_least(self, 0, "max_bad_rows", "decontaminate_words", "draft_vocab_size", "num_layers")
        check_above_zero(self, "lr", "epochs", "minutes", "endpoint_timeout")
        check_share(self, "soft_targets")
        if self.minutes is not None and self.tokens is not None:
            raise InvalidParameterError("both minutes and tokens were given; expected one of them")
        if self.projection_rank is not None and self.projection != "low-rank":
            raise InvalidParameterError(
                f"projection_rank was given and projection is {self.projection!r}; ask for 'low-rank', or leave it out"
            )
        if self.condition_size is not None and not self.condition_on_root:
            raise InvalidParameterError(
                "condition_size was given and condition_on_root is off; nothing has that width. Leave one out"
            )
        if self.block != "residual" and not self.num_layers:
            raise InvalidParameterError(f"block is {self.block!r} and num_layers is 0; without blocks there is no kind of them")
        if self.decontaminate and not self.decontaminate_words:
            raise InvalidParameterError("decontaminate was given and decontaminate_words is 0, which leaves all in; leave one out")
        if self.kind == "hydra" and not self.condition_on_root:
            raise InvalidParameterError("kind is 'hydra' and condition_on_root is off; hydra heads read it always. Leave one out")
        if self.max_bad_rows != TrainOptions.max_bad_rows and not self.data and self.shards is None:
            raise InvalidParameterError("max_bad_rows was given without data; no rows are read then, so leave it out")
        if self.keep_answers and not self.data:
            raise InvalidParameterError("keep_answers was given without data; name the files that hold the answers")
        self._check_endpoint()
        self._check_shards()

    def _check_endpoint(self) -> None:
        if (self.endpoint is None) != (self.endpoint_model is None):
            raise InvalidParameterError("endpoint and endpoint_model go together; name the URL and the model that it serves")
        if self.endpoint is None:
            for name in ("api_key_env", "endpoint_parallel", "endpoint_timeout", "endpoint_tries"):
                if getattr(self, name) != getattr(TrainOptions, name):
                    raise InvalidParameterError(f"{name} was given without endpoint; name the endpoint, or leave it out")
        if self.endpoint is not None and not self.data:
            raise InvalidParameterError("endpoint was given without data; name the files that hold the questions")
        if self.endpoint is not None and self.keep_answers:
            raise InvalidParameterError("both endpoint and keep_answers were given; expected one of them")

    def _check_shards(self) -> None:
        if self.shards is None:
            return
        if self.data:
            raise InvalidParameterError("both shards and data were given; expected one of them")
        for name in ("decontaminate", "decontaminate_words"):
            if getattr(self, name) != getattr(TrainOptions, name):
                raise InvalidParameterError(
                    f"both shards and {name} were given; prompts are kept out while answers are recorded, not afterwards"
                )
        if self.max_bad_rows != TrainOptions.max_bad_rows:
            raise InvalidParameterError("both shards and max_bad_rows were given; no rows are read then, so leave it out")
        if self.minutes is not None:
            raise InvalidParameterError("both shards and minutes were given; the answers are there already: say epochs, or tokens")

    @property
    def identity(self) -> dict[str, object]:
        """What has to stay the same when a run is resumed: all that heads depend on, but the cache, which the plan knows."""
        skipped = {"resume", "cache", "quiet", "tensorboard", "endpoint", "api_key_env"}
        skipped |= {"endpoint_parallel", "endpoint_timeout", "endpoint_tries", "max_bad_rows"}
        if self.shards is not None:
            skipped |= {"max_rows", "decontaminate", "decontaminate_words"}  # of the making of answers
        values = {name: getattr(self, name) for name in self.__dataclass_fields__ if name not in skipped}
        paths = {name: [str(path) for path in getattr(self, name)] for name in ("data", "decontaminate") if name not in skipped}
        return {**values, **paths, "shards": None if self.shards is None else str(self.shards)}
