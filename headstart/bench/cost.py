"""What a token costs in device time and money, and up to how many texts at once drafting pays."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from headstart.bench.bootstrap import ratio_interval
from headstart.bench.contestants import PLAIN
from headstart.bench.samples import Sample

_HOUR, _MILLION = 3600.0, 1_000_000


def cost(samples: Sequence[Sample], name: str, price_per_hour: float | None, noise: float = 0.0) -> dict[str, Any] | None:
    """Of one contestant in one setting, prompts' passes included; None where it did not take part.

    ``price_per_million`` is money for a million output tokens, in the unit of ``price_per_hour``.
    ``noise``: see ``bootstrap.py``.
    """
    mine = [sample for sample in samples if name in sample.runs]
    if not mine:
        return None
    per_token = ratio_interval([s.seconds(name) for s in mine], [float(s.tokens(name)) for s in mine], noise=noise)
    assert per_token is not None
    plain = sum(s.seconds(PLAIN) for s in mine) / sum(s.tokens(PLAIN) for s in mine)
    return {
        "device_seconds_per_token": per_token.to_dict(),
        "tokens_per_second": 1 / per_token.estimate,
        "of_plain": per_token.estimate / plain,
        "price_per_million": None if price_per_hour is None else per_token.estimate / _HOUR * price_per_hour * _MILLION,
    }


def stops_paying(speedups: Mapping[int, float]) -> dict[str, Any]:
    """From throughput against plain decoding by batch size: at which sizes drafting ``pays``, and above which no longer.

    ``above`` is None where it pays at the largest size that was measured, and 0 where it pays at none; between two sizes it is
    interpolated over the logarithm of the size.
    """
    sizes = sorted(speedups)
    pays = [size for size in sizes if speedups[size] > 1]
    found = {"measured": sizes, "pays": pays}
    if not pays or pays[-1] == sizes[-1]:
        return {**found, "above": None if pays else 0}
    low, high = pays[-1], sizes[sizes.index(pays[-1]) + 1]
    share = (speedups[low] - 1) / (speedups[low] - speedups[high])
    return {**found, "above": math.floor(low * (high / low) ** share)}
