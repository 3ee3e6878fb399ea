import io

from rich.console import Console

from headstart.train.live_table import LiveTable


def printed(table: LiveTable) -> str:
    out = io.StringIO()
    Console(file=out, width=160).print(table.view())
    return out.getvalue()


def test_losses_accuracies_speed_and_time_left() -> None:
    """Resumed at step 10 of 100; 4 steps of 500 positions in 20 seconds: 100 a second, and 86 steps of 5 seconds are left."""
    now = iter([1000.0, 1020.0])
    table = LiveTable(None, heads=2, steps=100, done=10, clock=lambda: next(now))
    for loss in (3.0, 3.0, 3.0, float("nan")):  # a step without a label does not count
        table.step([2.0, loss], 500)
    table.evaluated([[0.5, 0.7, 0.8, 0.9], [0.25, 0.4, 0.5, 0.6]], 1.75)
    text = printed(table)
    assert "step 14 of 100; 100 tokens/s; 7:10 left; best 1.75 tokens per step at 8 nodes" in text
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines() if line.startswith("│")]
    assert rows == [["1", "2.000", "50.0%", "70.0%"], ["2", "3.000", "25.0%", "40.0%"]]


def test_before_the_first_step_and_beyond_an_hour() -> None:
    now = iter([0.0, 0.0, 3700.0])
    table = LiveTable(None, heads=1, steps=3, done=0, clock=lambda: next(now))
    assert printed(table).startswith("step 0 of 3\n")
    table.step([1.0], 2)
    assert "0 tokens/s; 2:03:20 left" in printed(table)


def test_it_moves_on_a_terminal_alone() -> None:
    for terminal in (True, False):
        out = io.StringIO()
        with LiveTable(Console(file=out, force_terminal=terminal, width=100), heads=1, steps=2, done=0) as table:
            table.step([1.25], 4)
        assert ("1.250" in out.getvalue()) is terminal
