"""The laps of a step, on a clock that is moved by hand."""

import time

import pytest

from headstart.completion import Stats
from headstart.engine.clock import Clock


def test_every_moment_belongs_to_one_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    """Laps at 1, 4, 6 and 9 seconds: verify had 3 and 3, draft 1, accept 2."""
    moments = iter([0.0, 1.0, 4.0, 6.0, 9.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(moments))
    clock = Clock()
    for phase in ("draft", "verify", "accept", "verify"):
        clock.lap(phase)
    stats = Stats()
    stats.seconds["draft"] = 10.0
    clock.charge(stats)
    assert stats.seconds == {"prefill": 0.0, "draft": 11.0, "verify": 6.0, "accept": 2.0, "commit": 0.0, "other": 0.0}
    clock.charge(stats)  # a neighbour of the same step has the same laps
    assert stats.seconds["verify"] == 12.0
