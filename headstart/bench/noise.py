"""Whether the machine was quiet enough to tell: the same prompts decoded twice in the same way."""

import math
from collections.abc import Sequence
from typing import Any

from headstart.bench.bootstrap import median_interval
from headstart.bench.contestants import AGAIN, PLAIN
from headstart.bench.samples import Sample

NOISY = 0.1
"""Above this half of all repeats differ by more than a tenth."""


def noise(samples: Sequence[Sample]) -> dict[str, Any]:
    """``median_difference`` is how far two runs of the same thing are apart, ``ratio`` the second run's speed over the first's,
    whose interval should hold 1: both took their turns in all places."""
    pairs = [sample for sample in samples if AGAIN in sample.runs]
    ratios = [sample.rate(AGAIN) / sample.rate(PLAIN) for sample in pairs]
    ratio = median_interval(ratios)
    apart = median_interval([math.expm1(abs(math.log(value))) for value in ratios])
    return {
        "repeats": len(pairs),
        "median_difference": None if apart is None else apart.estimate,
        "ratio": None if ratio is None else ratio.to_dict(),
        "noisy": apart is not None and apart.estimate > NOISY,
    }
