"""How likely the true continuation lies on each rank path, for planning: from the accuracies of heads, or from what was counted.

Shapes: K heads, R ranks.
"""

from collections.abc import Mapping, Sequence

from headstart.errors import InvalidParameterError
from headstart.trees.search import Counts
from headstart.trees.shape import Path

Chances = Mapping[Path, float]
"""Joint: head 1's guess number ``path[0]`` is right, and then head 2's number ``path[1]``, and so on."""
MOST_PATHS = 200_000
"""All paths are listed, so that heads and ranks cannot be many at once."""


def chances_of(top_KR: Sequence[Sequence[float]]) -> dict[Path, float]:
    """Of heads by their accuracies: ``top_KR[k][r]`` is how often the truth is among head k's first r + 1 guesses, where the
    guesses before it were right, whichever they were.

    Raises:
        InvalidParameterError: no head, or accuracies that are no chances, or fall from one rank to the next, or are too many.
    """
    if not top_KR:
        raise InvalidParameterError("no heads; expected the accuracy of at least one, such as 0.6 or 0.6,0.75,0.85")
    chances: dict[Path, float] = {}
    level: dict[Path, float] = {(): 1.0}
    for number, top_R in enumerate(top_KR, 1):
        level = _below(level, _shares(top_R, number))
        chances.update(level)
        if len(chances) > MOST_PATHS:
            raise InvalidParameterError(f"the first {number} heads have {len(chances):,} paths; expected at most {MOST_PATHS:,}")
    return chances


def counted(counts: Counts, total: int) -> dict[Path, float]:
    """Of heads that were watched: on how many of ``total`` positions the truth lay on each path."""
    assert total > 0, "nothing was counted"
    return {path: count / total for path, count in counts.items()}


def with_another_head(chances: Chances, top_R: Sequence[float]) -> dict[Path, float]:
    """The same with a head more, of the accuracies given."""
    deepest = max(map(len, chances))
    ends = {path: chance for path, chance in chances.items() if len(path) == deepest}
    return {**chances, **_below(ends, _shares(top_R, deepest + 1))}


def _below(level: Chances, share_R: Sequence[float]) -> dict[Path, float]:
    return {(*path, rank): chance * share for path, chance in level.items() for rank, share in enumerate(share_R)}


def _shares(top_R: Sequence[float], number: int) -> list[float]:
    """What each rank adds."""
    values = [0.0, *top_R]
    if len(values) < 2 or not all(low <= high <= 1 for low, high in zip(values, values[1:], strict=False)):
        raise InvalidParameterError(
            f"head {number} has the accuracies {list(top_R)}; expected how often the truth is among its first 1, 2, ... guesses:"
            " numbers from 0 to 1 that do not fall"
        )
    return [high - low for low, high in zip(values, values[1:], strict=False)]
