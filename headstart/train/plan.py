"""How much a run does. It is decided once, stored in ``run.json`` and never worked out again: a resumed run does the same."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from headstart.errors import TrainingError
from headstart.train.digest import digest_of_plan
from headstart.train.options import TrainOptions
from headstart.train.run_directory import check_same_options, read_run_file, write_run_file

Cache = Literal["disk", "none"]
_FORMAT = 1
SHARD_SIZE = 512
"""Conversations of a shard: a few minutes of work, which is what a kill can cost."""
_SMALLEST_SHARD = 16
_OVERHEAD = 0.12  # share of the time for evaluations, checkpoints and the last rows of a shard, which run half empty
_MOST_EPOCHS = 10


@dataclass(frozen=True)
class Plan:
    """The size of a run."""

    model: str
    options: dict[str, Any]
    """Those that the result depends on."""
    shard_size: int
    tokens: int
    """Answer tokens to collect; what is over in the last shard is kept."""
    steps: int | None
    """Optimizer steps; None follows from ``epochs`` and the examples that there are."""
    epochs: float
    cache: Cache = "disk"
    """Where the hidden states are: on the disk, or nowhere, so that the base model computes them in every step."""
    given: str = ""
    """Digest of the answers of another run, which a directory's name does not tell. Empty where the run makes its own, and in plans
    of versions that kept none."""
    compute: str = ""
    """Format of training's products: "bfloat16" or "float32", whatever was faster where the run began. Empty in plans of versions
    that did not keep it."""
    dtype: str = ""
    """Format that the base model computes in, which its states are in. Empty in plans of versions that did not keep it."""

    @property
    def digest(self) -> str:
        """What a checkpoint is known by: another for each other plan."""
        return digest_of_plan(asdict(self))

    @property
    def recorded(self) -> bool:
        """Whether the answers are another run's."""
        return self.options.get("shards") is not None

    def steps_for(self, per_epoch: int) -> int:
        """Optimizer steps, given how many make an epoch."""
        if self.steps is None:
            return max(1, round(self.epochs * per_epoch))
        return max(1, min(self.steps, _MOST_EPOCHS * per_epoch))  # far fewer data than time: more epochs would only overfit

    def save(self, path: Path) -> None:
        write_run_file(path, _FORMAT, asdict(self))


def read_plan(path: Path) -> Plan:
    """Raises TrainingError if there is none or it cannot be read."""
    return read_run_file(path, _FORMAT, Plan)


def check_same_run(plan: Plan, model: str, options: dict[str, Any], where: Path, *, cache: str = "auto", dtype: str = "") -> None:
    """Raises TrainingError if the run in ``where`` was started for another model, in another format, or with other options.

    ``dtype``: the model's format now; empty where nobody knows.
    """
    if cache not in ("auto", plan.cache):
        raise TrainingError(
            f"the run in {where} was started with cache={plan.cache!r}, not {cache!r}; resume it with the same, or leave"
            " --cache out"
        )
    if plan.model != model:
        raise TrainingError(f"the run in {where} trains heads for {plan.model}, not {model}; use another output directory")
    if dtype and plan.dtype not in ("", dtype):
        raise TrainingError(
            f"the run in {where} was started with the model in {plan.dtype}, and it is in {dtype} now; resume it with --dtype"
            f" {plan.dtype}"
        )
    # what did not exist when the run was started was what it now is by default
    check_same_options(where, plan.options, options, TrainOptions().identity)


def plan_for_time(
    *,
    model: str,
    options: dict[str, Any],
    seconds: float,
    tokens_per_second: float,
    steps_per_second: float,
    batch: int,
    epochs: float,
) -> Plan:
    """Divide ``seconds`` between data and training so that ``epochs`` passes over the data fit."""
    usable = seconds * (1 - _OVERHEAD)
    examples_per_second = steps_per_second * batch
    tokens = int(usable / (1 / tokens_per_second + epochs / examples_per_second))
    # a shard takes at most a tenth of the time for data, so that the run does not overshoot by a whole large one
    shard = min(SHARD_SIZE, max(_SMALLEST_SHARD, int(tokens / 10 / max(1, options["max_new_tokens"]))))
    return Plan(
        model=model,
        options=options,
        shard_size=shard,
        tokens=max(1, tokens),
        steps=max(1, int(epochs * tokens / batch)),
        epochs=epochs,
    )
