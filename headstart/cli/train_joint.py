"""``headstart train-joint``: a model and its heads trained together, so that the heads guess better (Medusa-2)."""

from functools import partial
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headstart.cli.report import to_json
from headstart.train.joint.options import JointOptions


def run(
    model: str,
    /,
    *,
    output: Path,
    device: str = "auto",
    tasks: Annotated[bool, Parameter(negative_bool="no-")] = True,
    json: bool = False,
    options: Annotated[JointOptions, Parameter(name="*")] = JointOptions(),
) -> int:
    """Train a model and its heads together, after "headstart train" trained the heads alone.

    The model changes, and so does its text. The result is an ordinary model directory, with its heads in the folder headstart,
    where every command finds them.

    Parameters
    ----------
    model
        A hub id, a directory, or "bundled".
    output
        Where the model goes. What --resume needs is in its run/, and may be deleted when the run is finished.
    device
        Where to compute, "cpu" or "cuda" for instance; "auto" takes the fastest there is.
    tasks
        At the end have both models do the bundled tasks, for the model card; code that they write is run where the system can
        limit it.
    json
        Print one JSON object with what was measured.
    """
    # torch comes with these, and asking for help has to be quick
    from headstart.bench.quality.solved import solved
    from headstart.bench.quality.tasks import read_tasks
    from headstart.train.joint.run import train_joint

    judge = partial(solved, tasks=read_tasks(None)) if tasks else None
    result = train_joint(model, output, options=options, device=device, judge=judge)
    shown = f"Model and heads are in {output}. What they are worth: {output / 'README.md'}"
    print(to_json(result.to_dict()) if json else shown)
    return 0
