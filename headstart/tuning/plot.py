"""Pictures of what was tuned: the trade-off of tree sizes, and the tree."""

import importlib.util
from collections.abc import Sequence
from pathlib import Path

from headstart.trees.step_table import StepTable


def plot_trade_off(table: StepTable, path: Path) -> bool:
    """Tokens per step and speed-up over the number of nodes, the chosen sizes marked; False where matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    speed = figure.subplots()
    tokens = speed.twinx()
    for rows in table.rows_R:
        ups = [table.speedup(rows, size) for size in range(len(table.nodes_N))]
        best = table.best(rows)
        (line,) = speed.plot(table.nodes_N, ups, ".-", label=f"speed-up, {rows} at once")
        speed.plot(table.nodes_N[best], ups[best], "o", color=line.get_color(), markersize=11, fillstyle="none")
    speed.axhline(1.0, color="grey", linewidth=0.8)
    tokens.plot(table.nodes_N, table.tokens_N, "k--", label="tokens per step")
    speed.set_xscale("log", base=2)
    ticks = [nodes for nodes in table.nodes_N if nodes & (nodes - 1) == 0]
    speed.set_xticks(ticks, [str(nodes) for nodes in ticks])
    speed.minorticks_off()
    speed.set_xlabel("nodes of a text's tree, the root included (ring: chosen)")
    speed.set_ylabel("tokens per second against plain decoding")
    tokens.set_ylabel("expected tokens per step")
    handles = [handle for handle in (*speed.get_lines(), *tokens.get_lines()) if not str(handle.get_label()).startswith("_")]
    speed.legend(handles, [str(handle.get_label()) for handle in handles], loc="best")
    figure.savefig(path)
    return True


def plot_lines(lines: Sequence[str], title: str, path: Path) -> bool:
    """A drawing made of characters, a tree for instance; False where matplotlib is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        return False
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    height = 0.8 + 0.19 * len(lines)
    figure = Figure(figsize=(max(5.0, 0.11 * max(map(len, lines))), height), dpi=120)
    FigureCanvasAgg(figure)
    figure.text(0.05, 1 - 0.2 / height, title, va="top")
    figure.text(0.05, 1 - 0.6 / height, "\n".join(lines), va="top", family="monospace", linespacing=1.2)
    figure.savefig(path)
    return True
