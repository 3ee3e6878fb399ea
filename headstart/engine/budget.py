"""How many nodes the trees of a pass may have: a fixed number, or what pays for the rows that are running right now.

A budget decides about speed alone: whatever it says, and however often it changes its mind, the text stays the same. It is not
asked where a rule of acceptance would make another text of another tree.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Protocol

from headstart.trees.step_table import MARGIN, StepTable, fastest

DECIDE_EVERY = 16
"""Steps at a number of rows between two decisions."""
PROBE_EVERY = 32
"""Steps between two tries of another size: one step each, which costs well under a hundredth of the time."""
_FIRST_PROBES, _FIRST_EVERY = 6, 8  # at a number of rows: what was measured is believed after it has been tried
_FIRST_PACES = 8  # steps whose median sets the pace
_BACK = 0.01  # plain decoding is safe: to go back to it takes less evidence than to leave it
_PACE_WEIGHT, _PROBE_WEIGHT = 1 / 8, 1 / 3
_SLOWER, _FASTER = 0.3, -1.0  # of a logarithm: one step that something else held up says little; none is fast by accident
_STEPS_KEPT = 256.0  # row steps that the measured gain remembers
_BELIEF = 32.0  # expected accepted tokens that the table's word counts for
_LEAST_LARGEST = 4


class TreeBudget(Protocol):
    """Asked before each pass, told after it."""

    @property
    def sizes(self) -> Sequence[int]:
        """Every number of nodes that it may ever ask for."""

    def nodes(self, rows: int, *, observed: bool = True) -> int:
        """Nodes of each row's tree in a pass of ``rows`` rows, the root included; the same until the next :meth:`observe`.

        ``observed`` False: nobody will tell of this step, so that it is no use to try a size in it.
        """

    def price(self, rows: int) -> float:
        """What a further node adds to a pass of ``rows`` rows, in passes without guesses; 0 lets trees fill their size."""

    def observe(self, rows: int, nodes: int, accepted: Sequence[int], seconds: float, width: int = 0) -> None:
        """A step of ``rows`` rows with trees of at most ``nodes`` nodes, in fact of ``width``, took ``seconds`` and accepted so
        many guesses of each row."""


class FixedBudget:
    """The same number of nodes always."""

    def __init__(self, nodes: int) -> None:
        self.sizes = (nodes,)

    def nodes(self, rows: int, *, observed: bool = True) -> int:
        return self.sizes[0]

    def price(self, rows: int) -> float:
        return 0.0

    def observe(self, rows: int, nodes: int, accepted: Sequence[int], seconds: float, width: int = 0) -> None:
        pass


@dataclass
class _Standing:
    """What goes on at one number of rows."""

    size: int
    """Place in the table's sizes."""
    steps: int = 0
    probe: int | None = None
    """A size to try for one step, the next one that is observed."""
    probes: int = 0


class AutomaticBudget:
    """The size that a table of steps says is fastest, corrected by what real steps turn out to give and take.

    What is learned: the *gain*, by how much more or fewer guesses are accepted than the table says, for all sizes alike; the
    *pace*, by how much longer steps take than it says, for all sizes alike (a longer context, a busy machine); and for each
    size how much it departs from the pace, which takes a step of that size now and then. Against going back and forth there is
    a decision every ``DECIDE_EVERY`` steps only, and a change has to promise 3 % more.

    Args:
        table: what was measured; or, where that is ``presumed``, what trees gave in training and times that nobody measured.
        presumed: the table's times are no more than a beginning, so that the first real ones count for all.
        only_chosen: keep to plain decoding and the sizes that the table says are fastest for some number of rows, where every
            other size has a price of its own, such as compiling it. Else every size up to twice the largest of those is in reach.
    """

    def __init__(self, table: StepTable, *, presumed: bool = False, only_chosen: bool = False) -> None:
        best = {table.best(rows) for rows in table.rows_R}
        reach = max(2 * table.nodes_N[max(best)], _LEAST_LARGEST)
        if only_chosen:
            self._table = table.only(sorted({0} | best))
        else:
            self._table = table.only([size for size, nodes in enumerate(table.nodes_N) if nodes <= reach])
        self.sizes = self._table.nodes_N
        self._believed = 0 if presumed else 1  # steps that the table's word about times counts for
        self._place = {nodes: size for size, nodes in enumerate(self.sizes)}
        self._standing: dict[int, _Standing] = {}
        self._accepted = self._expected = _BELIEF
        self._pace: dict[int, float] = {}
        self._first_paces: dict[int, list[float]] = {}
        self._departure: dict[tuple[int, int], float] = {}
        self._probes: dict[tuple[int, int], int] = {}

    @property
    def table(self) -> StepTable:
        """What it was given, as far as it is in reach."""
        return self._table

    @property
    def gain(self) -> float:
        """Accepted guesses over those that the table expects."""
        return self._accepted / self._expected

    def first_nodes(self, rows: int) -> int:
        """The number of nodes that it begins with at ``rows`` rows, before anything is learned."""
        return self.sizes[self._table.best(rows)]

    def nodes(self, rows: int, *, observed: bool = True) -> int:
        standing = self._at(rows)
        return self.sizes[standing.size if standing.probe is None or not observed else standing.probe]

    def price(self, rows: int) -> float:
        return 0.0

    def observe(self, rows: int, nodes: int, accepted: Sequence[int], seconds: float, width: int = 0) -> None:
        if nodes not in self._place:
            return
        size, standing = self._place[nodes], self._at(rows)
        self._learn_gain(size, accepted)
        self._learn_time(rows, size, seconds, probing=size != standing.size)
        standing.steps += 1
        standing.probe = None
        if standing.steps % (_FIRST_EVERY if standing.probes < _FIRST_PROBES else PROBE_EVERY) == 0:
            standing.probe = self._other(standing)
        if standing.steps % DECIDE_EVERY == 0:
            standing.size = self._decided(rows, standing.size)

    def speeds(self, rows: int) -> list[float]:
        """Tokens per second of a row at each size in reach, by all that is known."""
        return [self._speed(rows, size) for size in range(len(self.sizes))]

    def _at(self, rows: int) -> _Standing:
        if rows not in self._standing:
            self._standing[rows] = _Standing(fastest(self.speeds(rows)))
        return self._standing[rows]

    def _speed(self, rows: int, size: int) -> float:
        tokens = 1.0 + self.gain * (self._table.tokens_N[size] - 1.0)
        correction = self._pace.get(kind_of(rows), 0.0) + self._departure.get((kind_of(rows), size), 0.0)
        return tokens / (self._table.seconds(rows, size) * math.exp(correction))

    def _learn_gain(self, size: int, accepted: Sequence[int]) -> None:
        expected = self._table.tokens_N[size] - 1.0
        if expected <= 0:
            return
        for count in accepted:
            self._accepted += count - self._accepted / _STEPS_KEPT
            self._expected += expected - self._expected / _STEPS_KEPT

    def _learn_time(self, rows: int, size: int, seconds: float, *, probing: bool) -> None:
        kind = kind_of(rows)
        known = self._departure.get((kind, size), 0.0)
        pace = self._pace.get(kind, 0.0)
        surprise = math.log(max(seconds, 1e-9) / self._table.seconds(rows, size)) - pace - known
        if not probing:
            first = self._first_paces.setdefault(kind, [0.0] * self._believed)
            if len(first) < _FIRST_PACES:  # a table may be wrong by any factor, and what is done once holds the first steps up
                first.append(pace + surprise)
                self._pace[kind] = median(first)
            else:
                self._pace[kind] = pace + _PACE_WEIGHT * max(-_SLOWER, min(_SLOWER, surprise))
            return
        seen = self._probes[kind, size] = self._probes.get((kind, size), 0) + 1
        weight = max(_PROBE_WEIGHT, 1 / (seen + self._believed))
        self._departure[kind, size] = known + weight * max(_FASTER, min(_SLOWER, surprise))

    def _other(self, standing: _Standing) -> int | None:
        """The next size to try: plain decoding, one size down, one size up, in turn; None where that is no other."""
        turn = (0, standing.size - 1, standing.size + 1)[standing.probes % 3]
        standing.probes += 1
        return turn if turn != standing.size and 0 <= turn < len(self.sizes) else None

    def _decided(self, rows: int, size: int) -> int:
        speed_N = self.speeds(rows)
        best = fastest(speed_N)
        needed = _BACK if best == 0 else MARGIN
        return best if speed_N[best] > speed_N[size] * (1 + needed) else size


def kind_of(rows: int) -> int:
    """Numbers of rows that take alike: 1, 2 to 3, 4 to 7, ..."""
    return rows.bit_length()
