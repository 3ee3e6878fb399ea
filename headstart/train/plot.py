"""The loss over the steps, as a picture."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_SMOOTH = 0.95


def plot_losses(entries: Sequence[dict[str, Any]], path: Path) -> bool:
    """Draw each head's loss and the held-out score into a PNG; False, and no file, where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    steps = [entry for entry in entries if entry["event"] == "step"]
    evaluations = [entry for entry in entries if entry["event"] == "evaluation"]
    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    losses, worth = figure.subplots(), None
    heads = len(steps[0]["loss_K"]) if steps else 0
    for k in range(heads):
        losses.plot([e["step"] + 1 for e in steps], _smoothed([e["loss_K"][k] for e in steps]), label=f"head {k + 1}")
    losses.set_xlabel("step")
    losses.set_ylabel("cross-entropy, nats (smoothed)")
    if evaluations:
        worth = losses.twinx()
        scores = [e["score"] for e in evaluations]
        worth.plot([e["step"] + 1 for e in evaluations], scores, "k.--", label="tokens per step, 8 nodes")
        worth.set_ylabel("predicted tokens per step (held out)")
    handles = [*losses.get_lines(), *(worth.get_lines() if worth else [])]
    if handles:
        losses.legend(handles, [str(handle.get_label()) for handle in handles], loc="center right")
    figure.savefig(path)
    return True


def _smoothed(values: Sequence[float]) -> list[float]:
    out: list[float] = []
    mean = weight = 0.0
    for value in values:
        if value == value:  # a head without a label in a tiny batch has no loss
            mean, weight = _SMOOTH * mean + (1 - _SMOOTH) * value, _SMOOTH * weight + (1 - _SMOOTH)
        out.append(mean / weight if weight else float("nan"))
    return out
