"""Pictures."""

from pathlib import Path

import pytest

from headstart.trees.step_table import StepTable
from headstart.tuning import plot

TABLE = StepTable((1, 4, 8), (1.0, 1.5, 1.8), (1, 4), ((10.0, 10.0, 12.0), (20.0, 28.0, 40.0)))


def test_pictures_are_drawn(tmp_path: Path) -> None:
    assert plot.plot_trade_off(TABLE, tmp_path / "trade-off.png")
    assert plot.plot_lines(["root", "`-- 1"], "a tree", tmp_path / "tree.png")
    for name in ("trade-off.png", "tree.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plot.importlib.util, "find_spec", lambda _: None)
    assert not plot.plot_trade_off(TABLE, tmp_path / "trade-off.png")
    assert not plot.plot_lines(["root"], "a tree", tmp_path / "tree.png")
    assert list(tmp_path.iterdir()) == []
