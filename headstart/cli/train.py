"""``headstart train``: heads for a model, from given conversations or from none."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

import headstart
from headstart.cli.report import to_json
from headstart.errors import TrainingError
from headstart.train.options import TrainOptions

if TYPE_CHECKING:
    from headstart.train.run import TrainResult


def run(
    model: str,
    /,
    *,
    output: Path,
    dtype: Literal["auto", "bfloat16", "float16", "float32", "float64"] = "auto",
    device: str = "auto",
    weights: Literal["int8", "int4"] | None = None,
    json: bool = False,
    options: Annotated[TrainOptions, Parameter(name="*", negative_bool="no-")] = TrainOptions(),
) -> int:
    """Train heads that guess a model's next tokens; the model itself stays as it is.

    Parameters
    ----------
    model
        A hub id, a directory, a GGUF file, or "bundled".
    output
        Where the heads go. Its run/ keeps recorded answers, checkpoints and the log, and can be large; it may be deleted when
        neither --resume nor --shards nor train-joint needs it.
    dtype
        Precision of the model; "auto" is bfloat16 where the processor has it, else float32.
    device
        Where to compute, "cpu" or "cuda" for instance; "auto" takes the fastest there is.
    weights
        Round the native decoder's weights to 8 or 4 bits, on a CPU; the heads then fit the model with such weights.
    json
        Print one JSON object with what was measured.
    """
    from headstart.train.processes import join  # torch comes with these, and asking for help has to be quick
    from headstart.train.run import follow, train
    from headstart.train.run_directory import check_no_run, make_output

    processes, device = join(device)
    if processes.first and not options.resume:
        check_no_run(output / "run")  # before a model is loaded for nothing
        make_output(output / "run")
    # no tree is verified here, so that the order of sums can be the fastest
    llm = headstart.load(
        model,
        heads=None,
        drafter="none",
        dtype=dtype,
        device=device,
        weights=weights,
        max_rows=options.max_rows,
        bitwise=False,
    )
    if llm.tokenizer is None:
        raise TrainingError(f"{model} came without a tokenizer, and training reads and writes texts; put one beside the model")
    if not processes.first:
        follow(llm.model, output, options=options, processes=processes)
        processes.end()
        return 0
    result = train(llm.model, llm.tokenizer, output, options=options, processes=processes)
    processes.end()
    print(to_json(_record(result)) if json else f"Heads are in {output}. What they hold: headstart inspect {output}")
    return 0


def _record(result: "TrainResult") -> dict[str, Any]:
    return {**vars(result), "directory": str(result.directory), "evaluation": result.evaluation.to_dict()}
