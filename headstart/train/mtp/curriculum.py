"""Which heads are trained at a step."""

from collections.abc import Sequence

_SHARE = 0.5
"""Of the steps, in which the number of heads changes; in the rest it stays at the end of its way."""


def weights_at(step: int, steps: int, weights_N: Sequence[float], schedule: str) -> list[float]:
    """Each head's weight at ``step`` (from 0) of ``steps``; 0 for a head that is not trained then.

    "all" keeps them all; "grow" begins with the first and adds one after the other until the middle of the run; "shrink" takes
    one after the other away from the middle on, so that the last steps are spent on the next token.
    """
    heads = len(weights_N)
    if schedule == "all":
        return list(weights_N)
    done = step / steps
    if schedule == "grow":
        active = 1 + int(done / _SHARE * heads)
    else:
        active = heads if done < 1 - _SHARE else heads - int((done - (1 - _SHARE)) / _SHARE * heads)
    return [weight if n < active else 0.0 for n, weight in enumerate(weights_N)]
