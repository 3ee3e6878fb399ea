"""The latency curve: interpolation, storage, and what is measured."""

import pytest

from headstart.errors import DataError, InvalidParameterError
from headstart.models.conditions import Conditions
from headstart.tuning.latency import LatencyCurve, Point, measure_latency
from tests.decoding import Spy
from tests.tiny_models import native, tiny

CONDITIONS = Conditions(
    model="tiny", implementation="native", dtype="bfloat16", weights="", bitwise=True, device="cpu", processor="x", threads=2,
    torch="2.13.0",
)  # fmt: skip


def point(nodes: int, seconds: float, *, rows: int = 1, context: int = 100) -> Point:
    return Point(nodes=nodes, rows=rows, context=context, median=seconds, q1=seconds, q3=seconds, passes=3)


LINE = LatencyCurve(CONDITIONS, [point(1, 10.0), point(4, 10.0), point(8, 12.0), point(16, 20.0)])
PLANE = LatencyCurve(
    CONDITIONS,
    [
        point(nodes, base + nodes * rows + context / 100, rows=rows, context=context)
        for rows in (1, 4)
        for nodes, base in ((1, 10.0), (8, 10.0))
        for context in (100, 500)
    ],
)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        (1, 10.0),
        (2, 10.0),
        (6, 11.0),  # half way from 10 to 12
        (8, 12.0),
        (12, 16.0),  # half way from 12 to 20
        (24, 28.0),  # one a node, as from 8 to 16
        (0.5, 10.0),  # nothing is cheaper than the smallest pass
    ],
)
def test_between_node_counts(nodes: float, expected: float) -> None:
    assert LINE.at(nodes) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("nodes", "rows", "context", "expected"),
    [
        (8, 4, 100, 43.0),
        (8, 4, None, 43.0),  # the shortest context
        (4.5, 1, 100, 15.5),
        (8, 2.5, 100, 31.0),  # 10 + 8 x 2.5 + 1
        (8, 1, 300, 21.0),
        (4.5, 2.5, 300, 24.25),  # 10 + 4.5 x 2.5 + 3
        (8, 8, 900, 83.0),  # beyond both
    ],
)
def test_between_rows_and_contexts(nodes: float, rows: float, context: float | None, expected: float) -> None:
    assert PLANE.at(nodes, rows, context) == pytest.approx(expected)


def test_never_downwards_beyond_the_last_point() -> None:
    falling = LatencyCurve(CONDITIONS, [point(1, 10.0), point(2, 8.0)])
    assert falling.at(4) == 8.0
    assert falling.at(1.5) == 9.0


def test_one_point_is_a_level() -> None:
    assert LatencyCurve(CONDITIONS, [point(4, 7.0)]).at(64, 3, 9000) == 7.0


@pytest.mark.parametrize(
    "points",
    [
        [],
        [point(1, 1.0), point(1, 2.0)],  # twice
        [point(1, 1.0), point(2, 1.0), point(1, 2.0, rows=2)],  # 2 nodes of 2 rows are missing
        [point(1, 0.0)],
        [point(1, float("nan"))],
    ],
)
def test_points_that_are_no_curve(points: list[Point]) -> None:
    with pytest.raises(DataError, match="Measure again"):
        LatencyCurve(CONDITIONS, points)


def test_measuring_takes_turns() -> None:
    model = Spy(native(tiny("llama")))
    curve = measure_latency(model, nodes=(1, 4), rows=(1, 2), contexts=(5, 30), rounds=4)
    assert (curve.nodes, curve.rows, curve.contexts) == ([1, 4], [1, 2], [5, 30])
    assert all(p.passes == 4 and 0 < p.q1 <= p.median <= p.q3 for p in curve.points)
    sizes = [(1, 1), (1, 4), (2, 1), (2, 4)]
    # warmed up once, then in turn, each time from the next size on
    assert model.verified == 2 * [size for turn in (0, 0, 1, 2, 3) for size in sizes[turn:] + sizes[:turn]]
    assert curve.conditions == Conditions.of(model)
    assert model.cache.rows == 0


def test_measuring_ends_with_its_time() -> None:
    curve = measure_latency(native(tiny("llama")), nodes=(1,), rounds=1000, seconds=0.0)
    assert [p.passes for p in curve.points] == [3]  # three turns are always done


def test_nothing_to_measure() -> None:
    for nothing in ({"nodes": ()}, {"rows": ()}, {"contexts": ()}, {"rounds": 0}):
        with pytest.raises(InvalidParameterError, match="nothing to measure"):
            measure_latency(native(tiny("llama")), **nothing)
    with pytest.raises(InvalidParameterError, match="do not fit"):
        measure_latency(native(tiny("llama")), contexts=(4000,))
