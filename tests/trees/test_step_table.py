"""The table that sizes are chosen from."""

from dataclasses import replace

import pytest

from headstart.errors import TreeError
from headstart.trees.step_table import StepTable, fastest

TABLE = StepTable((1, 4, 8), (1.0, 1.5, 1.8), (1, 4), ((10.0, 10.0, 12.0), (20.0, 28.0, 40.0)))


def test_the_fastest_size_by_hand() -> None:
    # one row: 1.5 * 10 / 10 = 1.5 and 1.8 * 10 / 12 = 1.5; the smaller tree of the two
    # four: 1.5 * 20 / 28 = 1.07 and 1.8 * 20 / 40 = 0.9
    assert [TABLE.speedup(1, size) for size in range(3)] == pytest.approx([1.0, 1.5, 1.5])
    assert [TABLE.speedup(4, size) for size in range(3)] == pytest.approx([1.0, 30 / 28, 0.9])
    assert (TABLE.best(1), TABLE.best(4)) == (1, 1)


def test_plain_decoding_unless_a_tree_gains_three_percent() -> None:
    assert fastest([1.0, 1.029, 0.5]) == 0
    assert fastest([1.0, 1.031, 0.5]) == 1
    assert fastest([2.0]) == 0


@pytest.mark.parametrize(
    ("rows", "seconds"),
    [
        (1, 12.0),
        (2, 12.0 + 28 / 3),  # a third of the way from 12 to 40
        (4, 40.0),
        (7, 68.0),  # 28 / 3 a row, as from 1 to 4
    ],
)
def test_between_and_beyond_batch_sizes(rows: int, seconds: float) -> None:
    assert TABLE.seconds(rows, 2) == pytest.approx(seconds)


def test_only_some_sizes() -> None:
    assert TABLE.only([0, 2]) == StepTable((1, 8), (1.0, 1.8), (1, 4), ((10.0, 12.0), (20.0, 40.0)))


def test_never_downwards_beyond_the_last_batch_size() -> None:
    falling = replace(TABLE, seconds_RN=((10.0, 10.0, 12.0), (9.0, 9.0, 9.0)))
    assert falling.seconds(8, 0) == 9.0
    assert replace(TABLE, rows_R=(2,), seconds_RN=((1.0, 2.0, 3.0),)).seconds(9, 1) == 2.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"nodes_N": (2, 4, 8)}, "smallest tree has 2 nodes"),
        ({"nodes_N": (1, 8, 4)}, "ascending"),
        ({"rows_R": ()}, "at least one"),
        ({"rows_R": (0, 1)}, "batch sizes"),
        ({"tokens_N": (1.0, 1.5)}, "for each tree size"),
        ({"seconds_RN": ((1.0, 1.0, 1.0),)}, "for each tree size"),
        ({"tokens_N": (1.1, 1.5, 1.8)}, "expected 1 for plain"),
        ({"tokens_N": (1.0, 0.5, 1.8)}, "at least 1"),
        ({"tokens_N": (1.0, float("nan"), 1.8)}, "at least 1"),
        ({"seconds_RN": ((10.0, 0.0, 12.0), (20.0, 28.0, 40.0))}, "above 0"),
    ],
)
def test_what_is_no_table(changes: dict[str, object], message: str) -> None:
    with pytest.raises(TreeError, match=message):
        replace(TABLE, **changes)  # type: ignore[arg-type]
