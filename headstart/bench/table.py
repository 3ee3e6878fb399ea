"""A table, before anybody has drawn it."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """Cells are texts, the first of a row its name."""

    title: str
    headings: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    note: str = ""
