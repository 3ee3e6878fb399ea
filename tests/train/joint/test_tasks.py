"""Tasks before and after training."""

from headstart.train.joint.tasks import Solved, compared


def test_tasks_that_both_were_given_are_compared() -> None:
    before = {"sums": {"1": True, "2": False, "3": True, "4": False, "5": True}, "code": {"6": True}}
    after = {"sums": {"1": True, "2": True, "3": False, "4": False}}  # its context had no room for the fifth, nor for code
    found = compared(before, after)
    assert found == {"sums": Solved(tasks=4, before=2, after=2, gained=1, lost=1)}
    assert found["sums"].line == "2 of 4 tasks solved, 2 before (1 gained, 1 lost)"
    assert compared({}, after) == {}
