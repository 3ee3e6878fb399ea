"""How much a run does. It is decided once, stored in ``run.json`` and never worked out again: a resumed run does the same."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from headstart.errors import TrainingError
from headstart.train.atomic_file import write_atomically
from headstart.train.options import TrainOptions

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
        write_atomically(path, (json.dumps({"format": _FORMAT, **asdict(self)}, indent=2) + "\n").encode())


def read_plan(path: Path) -> Plan:
    """Raises TrainingError if there is none or it cannot be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise TrainingError(f"there is no run to resume: {path} is missing. Start one without --resume") from error
    except ValueError as error:
        raise TrainingError(f"{path} is not JSON: {error}; start anew in an empty directory") from error
    if not isinstance(data, dict) or data.pop("format", None) != _FORMAT:
        raise TrainingError(f"{path} was written by another version; start anew in an empty directory")
    try:
        return Plan(**data)
    except TypeError as error:
        raise TrainingError(f"{path} is malformed: {error}; start anew in an empty directory") from error


def check_same_run(plan: Plan, model: str, options: dict[str, Any], where: Path, cache: str = "auto") -> None:
    """Raises TrainingError if the run in ``where`` was started for another model or with other options."""
    options = json.loads(json.dumps(options))
    # what did not exist when the run was started was what it now is by default
    defaults = json.loads(json.dumps(TrainOptions().identity))
    if cache not in ("auto", plan.cache):
        raise TrainingError(
            f"the run in {where} was started with cache={plan.cache!r}, not {cache!r}; resume it with the same, or leave"
            " --cache out"
        )
    if plan.model != model:
        raise TrainingError(f"the run in {where} trains heads for {plan.model}, not {model}; use another output directory")
    for name in sorted(plan.options.keys() | options.keys()):
        before, now = (each.get(name, defaults.get(name)) for each in (plan.options, options))
        if before != now:
            raise TrainingError(f"the run in {where} was started with {name}={before!r}, not {now!r}; resume it with the same")


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
