"""Reading memory."""

import pytest
import torch

from headstart.tuning import bandwidth
from headstart.tuning.bandwidth import Bandwidth, read_bandwidth


def test_seconds_at_the_median_rate() -> None:
    # 270 MB at 30 GB/s are 9 ms
    found = Bandwidth(nbytes=1, median=30e9, lowest=1e9, highest=40e9, reads=3)
    assert found.seconds(270_000_000) == pytest.approx(0.009)


def test_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bandwidth, "_LEAST", 1 << 16)
    monkeypatch.setattr(bandwidth, "_MOST", 1 << 18)
    for asked, expected in ((5, 1 << 16), (100_001, 100_000), (1 << 30, 1 << 18)):
        found = read_bandwidth(asked, torch.device("cpu"), reads=4)
        assert (found.nbytes, found.reads) == (expected, 4)
        assert 0 < found.lowest <= found.median <= found.highest
