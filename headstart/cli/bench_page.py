"""What ``headstart bench`` says on the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table as Grid

from headstart.bench.compare import comparison_table
from headstart.bench.table import Table
from headstart.bench.tables import tables


def show(result: Mapping[str, Any]) -> None:
    """The verdict, what to be careful with, and the tables."""
    console = Console()
    found = result["verdict"]
    for text in (found["headline"], *found["sentences"], *(f"Careful: {warning}" for warning in found["warnings"])):
        console.print(text, highlight=False, markup=False)
    for table in tables(result):
        _show_table(console, table)


def show_comparison(found: Mapping[str, Any]) -> None:
    """What two results have in common, and what differs around them."""
    console = Console()
    _show_table(console, comparison_table(found))
    console.print(f"{found['agree']} of {found['compared']} agree.", highlight=False)
    for key, (one, other) in found["environment"].items():
        console.print(f"differs: {key}: {one} and {other}", highlight=False, markup=False, soft_wrap=True)


def _show_table(console: Console, table: Table) -> None:
    grid = Grid(box=SIMPLE_HEAD, title=table.title, title_justify="left", title_style="bold", caption_justify="left")
    for i, heading in enumerate(table.headings):
        grid.add_column(heading, justify="right" if i else "left", overflow="fold")  # in several lines, but whole
    for row in table.rows:
        grid.add_row(*row)
    console.print()
    console.print(grid, highlight=False, markup=False)
    if table.note:
        console.print(f"  {table.note}", highlight=False, markup=False, style="dim")
