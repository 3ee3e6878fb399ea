"""Percentiles, as every table here gives them."""

import statistics
from collections.abc import Sequence

import torch

PERCENTS = (50, 90, 99)


def percentiles(values: Sequence[float], scale: float = 1.0) -> dict[str, float | int | None]:
    """Mean, p50, p90 and p99 times ``scale``, and how many values there were; None for each where there was none."""
    if not values:
        return {"n": 0, "mean": None, **{f"p{percent}": None for percent in PERCENTS}}
    found = torch.quantile(torch.tensor(values, dtype=torch.float64), torch.tensor(PERCENTS, dtype=torch.float64) / 100).tolist()
    return {
        "n": len(values),
        "mean": statistics.fmean(values) * scale,
        **{f"p{percent}": value * scale for percent, value in zip(PERCENTS, found, strict=True)},
    }
