"""Rows of a data set of the hub."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from headstart.errors import DataError

PREFIX = "hub:"
"""What tells a data set from a file."""
_NAME = re.compile(rf"{PREFIX}(?P<name>[^@:]+)(?:@(?P<config>[^@:]+))?(?::(?P<split>.+))?")


def hub_rows(source: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each row of ``hub:NAME[@CONFIG][:SPLIT]`` with the place that it stands at, counted from 1; the split is "train" by default.

    Raises:
        DataError: the name is malformed, there is no such data set or split, or ``datasets`` is not installed.
    """
    found = _NAME.fullmatch(source)
    if found is None:
        raise DataError(f"{source!r} names no data set; expected {PREFIX}NAME, {PREFIX}NAME:SPLIT or {PREFIX}NAME@CONFIG:SPLIT")
    try:
        import datasets
    except ImportError as error:
        raise DataError(
            f"{source} is a data set of the hub, and datasets is not installed; pip install 'headstart[data]'"
        ) from error
    try:
        rows = datasets.load_dataset(found["name"], found["config"], split=found["split"] or "train")
    except (OSError, ValueError, RuntimeError, datasets.exceptions.DatasetsError) as error:
        raise DataError(f"the data set {source} cannot be loaded: {error}; check its name, configuration and split") from error
    for number, row in enumerate(rows, 1):
        yield f"{source} row {number}", row
