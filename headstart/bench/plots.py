"""Pictures of a result, each from the result alone."""

import importlib.util
import io
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from headstart.bench.contestants import PLAIN

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLOURS = (
    "#2b6cb0",
    "#dd6b20",
    "#2f855a",
    "#805ad5",
    "#c53030",
    "#4a5568",
    "#b7791f",
    "#0987a0",
    "#97266d",
    "#1a202c",
    "#68d391",
    "#cbd5e0",
)


def pictures(result: Mapping[str, Any]) -> dict[str, bytes]:
    """PNGs by file name, those that have something to show; none where matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        return {}
    found = {name: draw(result) for name, draw in PICTURES.items()}
    return {f"{name}.png": _png(figure) for name, figure in found.items() if figure is not None}


def speedup_by_category(result: Mapping[str, Any]) -> "Figure | None":
    """Bars with their intervals."""
    setting = result["latency"]["settings"][0]
    names = [name for name in setting["contestants"] if name != PLAIN]
    categories = sorted({c for name in names for c in setting["contestants"][name]["by_category"]})
    if not names or not categories:
        return None
    figure, axes = _empty(max(6.0, 1.2 + 0.24 * len(names) * len(categories)))
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        found = setting["contestants"][name]["by_category"]
        points = [(x, found[c]["decode"]) for x, c in enumerate(categories) if found.get(c, {}).get("decode")]
        where = [x - 0.4 + width * (i + 0.5) for x, _ in points]
        middle = [point["estimate"] for _, point in points]
        below = [max(0.0, point["estimate"] - point["low"]) for _, point in points]
        above = [max(0.0, point["high"] - point["estimate"]) for _, point in points]
        axes.bar(where, middle, width, yerr=[below, above], label=name, color=_COLOURS[i % len(_COLOURS)], error_kw={"lw": 0.8})
    axes.axhline(1.0, color="grey", linewidth=0.8)
    axes.set_xticks(range(len(categories)), categories, rotation=35, ha="right")
    axes.set_ylabel("decoding speed against plain decoding")
    axes.set_title(setting["label"], fontsize=10)
    axes.legend(fontsize=8)
    return figure


def accepted_by_depth(result: Mapping[str, Any]) -> "Figure | None":
    """How often steps accept at least so many guesses."""
    setting = result["acceptance"]["settings"][0]
    found = {name: c for name, c in setting["contestants"].items() if c["joint"]}
    if not found:
        return None
    figure, axes = _empty(7.0)
    for i, (name, accepted) in enumerate(found.items()):
        depths, colour = range(1, len(accepted["joint"]) + 1), _COLOURS[i % len(_COLOURS)]
        label = f"{name}, L = {accepted['tokens_per_step']['estimate']:.2f}"
        axes.plot(depths, accepted["joint"], "o-", markersize=3, color=colour, label=label)
        axes.plot(depths, accepted["conditional"], ":", color=colour)
    axes.set_xlabel("guesses")
    axes.set_ylabel("share of steps that accept at least so many\n(dotted: of those that accept one less)")
    axes.set_ylim(0, 1)
    axes.set_title(setting["label"], fontsize=10)
    axes.legend(fontsize=8)
    return figure


def cost_over_batch(result: Mapping[str, Any]) -> "Figure | None":
    """Throughput and device time a token over the batch size."""
    temperature = result["cost"]["settings"][0]["temperature"]
    settings = [row for row in result["cost"]["settings"] if row["temperature"] == temperature]
    names = list(dict.fromkeys(name for row in settings for name in row["contestants"]))
    if len(settings) < 2 or not names:
        return None
    figure, left, right = _pair()
    for i, name in enumerate(names):
        rows = [(row["batch"], row["contestants"][name]) for row in settings if name in row["contestants"]]
        batches, colour = [batch for batch, _ in rows], _COLOURS[i % len(_COLOURS)]
        left.plot(batches, [c["tokens_per_second"] for _, c in rows], "o-", markersize=3, color=colour, label=name)
        right.plot(batches, [c["of_plain"] for _, c in rows], "o-", markersize=3, color=colour, label=name)
    for axes in (left, right):
        axes.set_xscale("log", base=2)
        axes.set_xticks([row["batch"] for row in settings], [str(row["batch"]) for row in settings])
        axes.minorticks_off()
        axes.set_xlabel("texts at once")
    left.set_ylabel("tokens/s, all texts")
    left.set_ylim(bottom=0)
    left.legend(fontsize=8)
    right.axhline(1.0, color="grey", linewidth=0.8)
    right.set_ylabel("device time a token, of plain decoding's")
    return figure


def overhead_parts(result: Mapping[str, Any]) -> "Figure | None":
    """A step of each contestant as a bar of its parts."""
    setting = result["overhead"]["settings"][0]
    found = {name: c["parts"] or c["ms_per_step"] for name, c in setting["contestants"].items()}
    if not found:
        return None
    parts = list(dict.fromkeys(part for one in found.values() for part in one))
    figure, axes = _empty(8.0, 1.4 + 0.45 * len(found))
    start = dict.fromkeys(found, 0.0)
    for i, part in enumerate(parts):
        widths = [max(0.0, found[name].get(part, 0.0)) for name in found]
        axes.barh(list(found), widths, left=list(start.values()), label=part, color=_COLOURS[i % len(_COLOURS)], alpha=0.85)
        start = {name: at + width for (name, at), width in zip(start.items(), widths, strict=True)}
    axes.invert_yaxis()
    axes.set_xlabel(f"milliseconds of a step, {setting['label']}")
    axes.legend(fontsize=7, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.35 if len(found) < 3 else -0.25))
    return figure


def tree(result: Mapping[str, Any]) -> "Figure | None":
    """The heads' static tree: nodes by depth, as large as the share of positions at which the truth lay on them."""
    found = result["acceptance"].get("tree")
    if not found or len(found["parent"]) < 2:
        return None
    parent, share = found["parent"], found["share"]
    children: dict[int, list[int]] = {}
    for node, above in enumerate(parent[1:], 1):
        children.setdefault(above, []).append(node)
    place: dict[int, tuple[float, int]] = {}
    leaves = 0

    def put(node: int, depth: int) -> None:
        nonlocal leaves
        below = children.get(node, [])
        for child in below:
            put(child, depth + 1)
        if below:
            place[node] = (sum(place[child][0] for child in below) / len(below), depth)
        else:
            place[node] = (float(leaves), depth)
            leaves += 1

    put(0, 0)
    figure, axes = _empty(max(5.0, 0.3 * leaves), 1.2 + 0.8 * (1 + max(depth for _, depth in place.values())))
    for node, above in enumerate(parent[1:], 1):
        axes.plot([place[above][0], place[node][0]], [-place[above][1], -place[node][1]], color="#a0aec0", linewidth=1, zorder=1)
    for node, (x, depth) in place.items():
        axes.scatter([x], [-depth], s=30 + 400 * (1.0 if node == 0 else share[node]), color=_COLOURS[0], zorder=2)
        label = "root" if node == 0 else f"{share[node]:.0%}"
        axes.annotate(label, (x, -depth), textcoords="offset points", xytext=(0, -16), ha="center", fontsize=7)
    axes.set_ylim(-max(depth for _, depth in place.values()) - 0.6, 0.5)
    axes.set_axis_off()
    axes.set_title(f"the heads' tree, {len(parent)} nodes: how often the truth lay there", fontsize=10)
    return figure


PICTURES: dict[str, Callable[[Mapping[str, Any]], "Figure | None"]] = {
    "speedup": speedup_by_category,
    "acceptance": accepted_by_depth,
    "cost": cost_over_batch,
    "overhead": overhead_parts,
    "tree": tree,
}
"""By file name without its ending."""


def _empty(width: float, height: float = 4.5) -> "tuple[Figure, Axes]":
    figure = _figure(min(width, 40.0), height)
    return figure, figure.subplots()


def _pair() -> "tuple[Figure, Axes, Axes]":
    figure = _figure(10.0, 4.2)
    left, right = figure.subplots(1, 2)
    return figure, left, right


def _figure(width: float, height: float) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _png(figure: "Figure") -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
