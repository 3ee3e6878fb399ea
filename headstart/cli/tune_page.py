"""What ``headstart tune`` says."""

from collections.abc import Iterator
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table

from headstart.cli.tree_drawing import draw
from headstart.trees.shape import TreeShape
from headstart.tuning.tune_result import TuneResult


def tune_record(result: TuneResult) -> dict[str, Any]:
    """Everything, ready for JSON."""
    table = result.table
    return {
        **result.tuned.to_dict(),
        "recommended_nodes": result.tree_file.nodes,
        "speedup": {rows: table.speedup(rows, size) for rows, size in _best(result)},
        "paths": [list(path) for path in chosen_tree(result).paths],
        "notes": list(result.notes),
    }


def tune_page(result: TuneResult) -> Iterator[RenderableType]:
    """The same for people."""
    table, observed = result.table, result.tuned.observed
    here = result.tuned.conditions
    yield (
        f"learned from {observed['positions']:,} positions of {observed['texts']} texts ({observed['prompts']} prompts,"
        f" temperature {observed['temperature']:g})"
    )
    yield f"times: {here.implementation}, {here.dtype}, {here.threads} thread(s) of {here.processor}, medians in ms"
    yield _trade_off(result)
    yield (
        "tokens/step: expected of grown trees, with standard error, and of static ones; T(n): a pass alone;\n"
        "step: drafting and all; x r: tokens per second against plain decoding, r texts at once\n"
    )
    for rows, size in _best(result):
        if size == 0:
            yield f"{rows:>3} at once: plain decoding"
        else:
            yield f"{rows:>3} at once: {table.nodes_N[size]} nodes, {table.speedup(rows, size):.2f} times plain decoding expected"
    if result.verified:
        yield "\npredicted and measured, on prompts that nothing was learned from:"
        yield _verified(result)
        yield "same: texts equal to plain decoding's; L: tokens per step, predicted and as it was; x: the same of the speed-up\n"
    for note in result.notes:
        yield f"note: {note}"
    shape = chosen_tree(result)
    yield f"\nthe static tree of {len(shape)} nodes, each a head's guess by rank (by default trees are grown anew each step):"
    yield "\n".join(draw(shape))


def chosen_tree(result: TuneResult) -> TreeShape:
    """The static tree of the recommended size; of two nodes where that is the root alone."""
    return result.tree_file.tree.limited(nodes=max(2, result.tree_file.nodes))


def _best(result: TuneResult) -> list[tuple[int, int]]:
    return [(rows, result.table.best(rows)) for rows in result.table.rows_R]


def _trade_off(result: TuneResult) -> Table:
    table, static = result.table, result.learned.static
    first = table.rows_R[0]
    best = table.best(first)
    page = Table(box=SIMPLE_HEAD)
    headings = ["nodes", "tokens/step", "+-", "static", "T(n)", "step", *(f"x {rows}" for rows in table.rows_R)]
    for heading in headings:
        page.add_column(heading, justify="right", no_wrap=True)
    for size, nodes in enumerate(table.nodes_N):
        page.add_row(
            f"{'> ' if size == best else ''}{nodes}",
            f"{table.tokens_N[size]:.2f}",
            f"{result.learned.error[nodes]:.2f}",
            f"{static[nodes]:.2f}",
            f"{result.curve.at(nodes, first) * 1e3:.2f}",
            f"{table.seconds(first, size) * 1e3:.2f}",
            *(f"{table.speedup(rows, size):.2f}" for rows in table.rows_R),
        )
    return page


def _verified(result: TuneResult) -> Table:
    page = Table(box=SIMPLE_HEAD)
    for heading in ("at once", "nodes", "texts", "same", "L", "was", "x", "was", "quartiles"):
        page.add_column(heading, justify="right", no_wrap=True)
    for each in result.verified:
        page.add_row(
            str(each.rows),
            str(each.nodes),
            str(each.texts),
            str(each.same_texts),
            f"{each.predicted_tokens:.2f}",
            f"{each.measured_tokens:.2f}",
            f"{each.predicted_speedup:.2f}",
            f"{each.measured_speedup:.2f}",
            f"{each.speedup_q1:.2f} to {each.speedup_q3:.2f}",
        )
    return page
