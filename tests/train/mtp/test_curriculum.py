"""Which heads are trained when."""

from headstart.train.mtp.curriculum import weights_at

WEIGHTS = [1.0, 0.5, 0.25, 0.125]


def active(schedule: str) -> list[int]:
    return [sum(weight > 0 for weight in weights_at(step, 16, WEIGHTS, schedule)) for step in range(16)]


def test_all_heads_always() -> None:
    assert active("all") == [4] * 16
    assert weights_at(3, 16, WEIGHTS, "all") == WEIGHTS


def test_heads_are_added_in_the_first_half() -> None:
    # a head more every eighth of the run
    assert active("grow") == [1, 1, 2, 2, 3, 3, 4, 4, *[4] * 8]
    assert weights_at(2, 16, WEIGHTS, "grow") == [1.0, 0.5, 0.0, 0.0]


def test_heads_are_taken_away_in_the_second_half() -> None:
    assert active("shrink") == [*[4] * 8, 4, 4, 3, 3, 2, 2, 1, 1]
    assert weights_at(15, 16, WEIGHTS, "shrink") == [1.0, 0.0, 0.0, 0.0]


def test_a_single_head_is_never_without_weight() -> None:
    for schedule in ("all", "grow", "shrink"):
        assert [weights_at(step, 7, [1.0], schedule) for step in range(7)] == [[1.0]] * 7
