"""Losses and held-out accuracies over the steps, as a picture."""

import importlib.util
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

from headstart.train.atomic_file import write_atomically

NO_PLOT = "no loss plot: matplotlib is missing (pip install 'headstart[train]')"
"""To be said where there is none."""
_SMOOTH = 0.95


def plot_losses(entries: Sequence[dict[str, Any]], path: Path) -> bool:
    """Draw each head's loss and, beside it, its held-out accuracy with the predicted tokens per step into a PNG.

    False, and no file, where matplotlib is not installed.

    Raises:
        TrainingError: the disk is full.
    """
    if importlib.util.find_spec("matplotlib") is None:
        return False
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    _draw_losses(left, [entry for entry in entries if entry["event"] == "step"])
    _draw_accuracies(right, [entry for entry in entries if entry["event"] == "evaluation"])
    picture = BytesIO()
    figure.savefig(picture, format="png")
    write_atomically(path, picture.getvalue())
    return True


def _draw_losses(axes: Any, steps: Sequence[dict[str, Any]]) -> None:
    for k in range(len(steps[0]["loss_K"]) if steps else 0):
        axes.plot([e["step"] + 1 for e in steps], _smoothed([e["loss_K"][k] for e in steps]), label=f"head {k + 1}")
    axes.set_xlabel("step")
    axes.set_ylabel("cross-entropy, nats (smoothed)")
    if steps:
        axes.legend()


def _draw_accuracies(axes: Any, evaluations: Sequence[dict[str, Any]]) -> None:
    at = [entry["step"] + 1 for entry in evaluations]
    known = [entry for entry in evaluations if "top_KT" in entry]
    for k in range(len(known[0]["top_KT"]) if known else 0):
        shares = [100 * share for share in _numbers(entry["top_KT"][k][0] for entry in known)]
        axes.plot([entry["step"] + 1 for entry in known], shares, "o-", label=f"head {k + 1}")
    axes.set_xlabel("step")
    axes.set_ylabel("first guess right, % (held out)")
    worth = axes.twinx()
    worth.plot(at, _numbers(entry["score"] for entry in evaluations), "k.--", label="tokens per step")
    worth.set_ylabel("tokens per step, 8 nodes (held out)")
    if evaluations:
        handles = [*axes.get_lines(), *worth.get_lines()]
        axes.legend(handles, [str(handle.get_label()) for handle in handles], loc="lower right")


def _numbers(values: Iterable[float | None]) -> list[float]:
    """With NaN for what is not known, which is a gap in a line."""
    return [float("nan") if value is None else value for value in values]


def _smoothed(values: Iterable[float | None]) -> list[float]:
    out: list[float] = []
    mean = weight = 0.0
    for value in _numbers(values):
        if value == value:  # a head without a label in a tiny batch has no loss
            mean, weight = _SMOOTH * mean + (1 - _SMOOTH) * value, _SMOOTH * weight + (1 - _SMOOTH)
        out.append(mean / weight if weight else float("nan"))
    return out
