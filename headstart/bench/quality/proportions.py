"""Intervals for counts: so many right of so many."""

import math

from headstart.bench.bootstrap import Interval

_Z = 1.959963984540054
"""Standard deviations of a normal number that hold 95 % of it."""


def wilson(right: int, n: int) -> Interval | None:
    """Of a share (Wilson 1927), which also says something where all or none are right; None without any."""
    if not n:
        return None
    share, square = right / n, _Z**2
    middle = (share + square / (2 * n)) / (1 + square / n)
    reach = _Z * math.sqrt(share * (1 - share) / n + square / (4 * n * n)) / (1 + square / n)
    low, high = max(0.0, middle - reach), min(1.0, middle + reach)
    return Interval(share, 0.0 if right == 0 else low, 1.0 if right == n else high, n)


def paired_difference(gained: int, lost: int, n: int) -> Interval | None:
    """Of the difference of two shares of the same ``n`` questions: ``gained`` are right the first way alone, ``lost`` the other
    way alone. None without questions.

    The adjusted Wald interval of Agresti and Min (2005): half a question more in each of the four cells, so that no difference
    seen is not taken for none there is.
    """
    if not n:
        return None
    differ, all_cells = gained + lost + 1, n + 2
    middle = (gained - lost) / all_cells
    reach = _Z * math.sqrt(differ - (gained - lost) ** 2 / all_cells) / all_cells
    return Interval((gained - lost) / n, max(-1.0, middle - reach), min(1.0, middle + reach), n)
