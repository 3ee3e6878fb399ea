"""The latency curve: how long a pass over n nodes takes, for a model, a machine, a batch size and a length of context."""

import statistics
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headstart.errors import DataError, InvalidParameterError
from headstart.models.conditions import Conditions
from headstart.models.protocol import BaseModel
from headstart.tuning.warm_pass import WarmPass

NODES = (1, 2, 4, 8, 16, 32, 64)
CONTEXT = 100
_LEAST_ROUNDS = 3


@dataclass(frozen=True, kw_only=True)
class Point:
    """Times of one kind of pass, in seconds: hidden states and logits of all nodes."""

    nodes: int
    """Of each row, the root included."""
    rows: int
    context: int
    """Positions in the cache, of each row."""
    median: float
    q1: float
    q3: float
    passes: int

    @classmethod
    def of(cls, nodes: int, rows: int, context: int, times: Sequence[float]) -> "Point":
        """From the times themselves, at least one."""
        q1, median, q3 = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else [times[0]] * 3
        return cls(nodes=nodes, rows=rows, context=context, median=median, q1=q1, q3=q3, passes=len(times))


class LatencyCurve:
    """Points, each combination of the node counts, batch sizes and contexts once.

    Raises:
        DataError: no points, a combination is missing or there twice, or a time is not positive.
    """

    def __init__(self, conditions: Conditions, points: Sequence[Point]) -> None:
        self.conditions, self.points = conditions, tuple(points)
        self._median = {(p.context, p.rows, p.nodes): p.median for p in points}
        self.contexts, self.rows, self.nodes = (sorted({key[axis] for key in self._median}) for axis in range(3))
        wanted = len(self.contexts) * len(self.rows) * len(self.nodes)
        if not points or len(points) != wanted or len(self._median) != wanted or any(not p.median > 0 for p in points):
            raise DataError(
                f"a latency curve of {len(points)} points; expected one positive time for each combination of contexts"
                f" {self.contexts}, rows {self.rows} and nodes {self.nodes}. Measure again"
            )

    def at(self, nodes: float, rows: float = 1, context: float | None = None) -> float:
        """Seconds of a pass over ``nodes`` nodes in each of ``rows`` rows, linear between points.

        Beyond the last point it goes on with the last slope (never downwards), below the first one it stays. ``context`` None
        is the shortest one measured.
        """
        context = self.contexts[0] if context is None else context

        def of_rows(c: int, r: int) -> float:
            return _between(self.nodes, lambda n: self._median[c, r, n], nodes)

        return _between(self.contexts, lambda c: _between(self.rows, lambda r: of_rows(c, r), rows), context)


def measure_latency(
    model: BaseModel,
    *,
    nodes: Sequence[int] = NODES,
    rows: Sequence[int] = (1,),
    contexts: Sequence[int] = (CONTEXT,),
    rounds: int = 15,
    seconds: float = 10.0,
) -> LatencyCurve:
    """Time warm passes with the CPU threads that torch is set to now. The cache has to be empty, and is so again.

    All sizes take turns, in an order that rotates, so that a machine that slows down slows all of them; the tree is ready
    before a pass. Each context ends after ``rounds`` turns, or after ``seconds`` if three turns are done by then.

    Raises:
        InvalidParameterError: a size below 1, the cache is in use, or the model has no room for a size.
    """
    if not nodes or not rows or not contexts or rounds < 1:
        raise InvalidParameterError("nothing to measure: expected at least one node count, row count, context and round")
    sizes = [(r, n) for r in sorted(set(rows)) for n in sorted(set(nodes))]
    points = []
    for context in sorted(set(contexts)):
        times: dict[tuple[int, int], list[float]] = {size: [] for size in sizes}
        with WarmPass(model, context=context, nodes=max(nodes), rows=max(rows)) as one_pass:
            for r, n in sizes:
                one_pass(n, r)
            began = time.perf_counter()
            for turn in range(rounds):
                if turn >= _LEAST_ROUNDS and time.perf_counter() - began > seconds:
                    break
                start = turn % len(sizes)
                for r, n in sizes[start:] + sizes[:start]:
                    times[r, n].append(one_pass.timed(n, r))
        points += [Point.of(n, r, context, found) for (r, n), found in times.items()]
    return LatencyCurve(Conditions.of(model), points)


def _between(places: Sequence[int], value: Callable[[int], float], x: float) -> float:
    """Linear interpolation; see :meth:`LatencyCurve.at` for what lies outside."""
    if len(places) == 1 or x <= places[0]:
        return value(places[0])
    upper = min(bisect_left(places, x), len(places) - 1)
    low, high = places[upper - 1], places[upper]
    slope = (value(high) - value(low)) / (high - low)
    if x > high:
        return value(high) + max(slope, 0.0) * (x - high)
    return value(low) + slope * (x - low)
