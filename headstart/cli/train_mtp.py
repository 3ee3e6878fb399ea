"""``headstart train-mtp``: a language model that predicts several tokens at once, and drafts for itself."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from headstart.cli.report import to_json
from headstart.train.mtp.options import MtpOptions


def run(
    *,
    output: Path,
    device: str = "auto",
    json: bool = False,
    options: Annotated[MtpOptions, Parameter(name="*")] = MtpOptions(),
) -> int:
    """Train a model with several output heads on one trunk: from scratch, or one that is there already.

    The result is an ordinary model directory, with the further heads in its folder headstart, where every command finds them.

    Parameters
    ----------
    output
        Where the model goes; an empty or a new directory, but for --resume. What that needs is in its run/, and may be deleted when
        the run is finished.
    device
        Where to compute, "cpu" or "cuda" for instance; "auto" takes the fastest there is.
    json
        Print one JSON object with what was measured.
    """
    from headstart.train.mtp.run import train_mtp  # torch comes with it, and asking for help has to be quick

    result = train_mtp(output, options=options, device=device)
    shown = f"The model is in {output}. It drafts for itself: headstart generate {output} TEXT"
    print(to_json(result.to_dict()) if json else shown)
    return 0
