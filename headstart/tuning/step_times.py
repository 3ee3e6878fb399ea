"""How long whole decode steps take: drafting, the pass, acceptance and the rest, for real texts and trees of every size in turn.

The engine decodes prompts while the size of its trees changes from step to step, which changes nothing about the texts. So all
sizes see the same contexts, and a machine that slows down slows all of them.
"""

import statistics
import time
from collections.abc import Iterable, Sequence
from itertools import cycle

from headstart.drafters.plain import PlainDrafter
from headstart.drafters.protocol import Drafter
from headstart.engine.engine import Engine
from headstart.errors import InvalidParameterError
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.tuning.latency import Point

LONGEST = 512
"""Tokens of one text at most."""
_SHORTEST = 16
_LEAST_ROUNDS = 3
_WASTED = 1000  # steps without a time before giving up


class Rotation:
    """A budget that goes through all sizes, each round from the next one on, and keeps the times of full batches."""

    def __init__(self, sizes: Iterable[int], rows: int) -> None:
        self.sizes, self._rows = tuple(sorted(set(sizes))), rows
        self.times: dict[int, list[float]] = {size: [] for size in self.sizes}
        self.taken = 0
        """Steps that gave a time."""

    @property
    def rounds(self) -> int:
        """In which every size had its turn."""
        return self.taken // len(self.sizes)

    def nodes(self, rows: int, *, observed: bool = True) -> int:
        turn, place = divmod(self.taken, len(self.sizes))
        return self.sizes[(turn + place) % len(self.sizes)]

    def price(self, rows: int) -> float:
        return 0.0

    def observe(self, rows: int, nodes: int, accepted: Sequence[int], seconds: float, width: int = 0) -> None:
        if rows == self._rows:
            self.times[nodes].append(seconds)
            self.taken += 1


def measure_steps(
    model: BaseModel,
    drafter: Drafter,
    prompts: Sequence[Sequence[int]],
    *,
    sizes: Sequence[int],
    rows: int,
    params: SamplingParams | None = None,
    tokens: int = LONGEST,
    rounds: int = 15,
    seconds: float = 20.0,
) -> list[Point]:
    """Times of steps of ``rows`` rows with trees of each size, with the CPU threads that torch is set to now.

    ``params`` (None is greedy) have a part in it: above temperature 0 drafting and acceptance need noise. Texts have ``tokens``
    tokens, or as many as there is room for: a longer context takes longer. A size has a warm-up step that does not count. It ends
    after ``rounds`` rounds, or after ``seconds`` if three are done.

    Raises:
        InvalidParameterError: the cache has no room for so many rows, or texts are too short to have a full batch.
    """
    room = min(tokens, room_for_steps(model, prompts, rows=rows, nodes=max(sizes)))
    rotation = Rotation(sizes, rows)
    name = drafter.facts.name
    engine = Engine(model, {"none": PlainDrafter(), name: drafter}, budgets={name: rotation})
    source, running, wasted = cycle(prompts), 0, 0
    began = time.perf_counter()
    try:
        while rotation.rounds < rounds + 1:
            if rotation.rounds > _LEAST_ROUNDS and time.perf_counter() - began > seconds:
                break
            while running < rows:
                ids = next(source)
                engine.add(Request(prompt_ids=ids, params=params or SamplingParams(), drafter=name, max_new_tokens=room))
                running += 1
            before = rotation.taken
            for event in engine.step():
                if event.error is not None:
                    raise event.error
                running -= event.finish_reason is not None
            wasted = 0 if rotation.taken > before else wasted + 1
            if wasted > _WASTED:
                raise InvalidParameterError(f"texts of {room} tokens never fill a batch of {rows}; measure fewer rows")
    finally:
        for row in [*engine.scheduler.rows, *engine.scheduler.waiting]:
            engine.cancel(row.number)
    context = round(statistics.mean(len(ids) for ids in prompts)) + room // 2
    return [Point.of(size, rows, context, times[1:]) for size, times in rotation.times.items()]


def room_for_steps(model: BaseModel, prompts: Sequence[Sequence[int]], *, rows: int, nodes: int) -> int:
    """Tokens that every prompt has room for in a full batch.

    Raises:
        InvalidParameterError: so few that steps cannot be measured.
    """
    longest = max(len(ids) for ids in prompts)
    room = min(LONGEST, model.facts.context_length - longest)
    while room >= _SHORTEST and not model.cache.fits(rows, longest + room + nodes):
        room //= 2
    if room < _SHORTEST:
        raise InvalidParameterError(
            f"{rows} rows with prompts of up to {longest} tokens and trees of {nodes} nodes have no room for {_SHORTEST} new tokens"
            f" (context {model.facts.context_length}, max_rows={model.cache.max_rows}, cache_tokens={model.cache.max_tokens});"
            " tune fewer rows, fewer nodes or shorter prompts"
        )
    return room
