"""The learning rate over a run."""

import math

WARM_UP = 0.03
"""Share of the steps in which the rate rises."""


def learning_rate(step: int, total: int, peak: float, warm_up_share: float = WARM_UP) -> float:
    """Linear warm-up to ``peak``, then a cosine to 0. ``step`` counts from 0; the last step still learns a little."""
    warm_up = max(1, round(warm_up_share * total))
    if step < warm_up:
        return peak * (step + 1) / warm_up
    done = (step - warm_up) / max(1, total - warm_up)
    return peak * 0.5 * (1 + math.cos(math.pi * done))
