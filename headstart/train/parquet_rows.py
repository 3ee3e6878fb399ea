"""Rows of a Parquet file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from headstart.errors import DataError

_BATCH = 1024  # rows held in memory at a time


def parquet_rows(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each row with the place that it stands at, counted from 1.

    Raises:
        DataError: the file cannot be read, or pyarrow is not installed.
    """
    try:
        import pyarrow.lib
        import pyarrow.parquet
    except ImportError as error:
        raise DataError(f"{path} is a Parquet file, and pyarrow is not installed; pip install 'headstart[data]'") from error
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            number = 0
            for batch in file.iter_batches(batch_size=_BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}: row {number}", row
    except (OSError, pyarrow.lib.ArrowException) as error:
        raise DataError(f"training data {path} cannot be read: {error}; expected a Parquet file") from error
