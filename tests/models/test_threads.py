"""CPU threads: how many, and that the caller's number comes back."""

import threading
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from headstart.models import threads
from headstart.models.threads import cpu_share, cpu_threads, default_threads, physical_cores


def written(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


def test_the_callers_number_comes_back() -> None:
    before = torch.get_num_threads()
    with cpu_threads(before + 1) as in_use:
        assert in_use == torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
    with pytest.raises(RuntimeError, match="midst"), cpu_threads(before + 2):
        raise RuntimeError("in the midst")
    assert torch.get_num_threads() == before


def test_another_thread_of_the_caller_keeps_its_number() -> None:
    seen: list[int] = []
    ready, go = threading.Event(), threading.Event()

    def other() -> None:
        seen.append(torch.get_num_threads())
        ready.set()
        go.wait(10)
        seen.append(torch.get_num_threads())

    thread = threading.Thread(target=other)
    thread.start()
    ready.wait(10)
    with cpu_threads(torch.get_num_threads() + 1):
        go.set()
        thread.join()
    assert seen[0] == seen[1]


@pytest.mark.parametrize(("cores", "set_to", "expected"), [(2, 4, 2), (8, 4, 4), (None, 4, 4), (1, 1, 1)])
def test_no_more_than_cores_and_never_more_than_asked(
    cores: int | None, set_to: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "usable_cores", lambda: cores)
    with cpu_threads(set_to):
        assert default_threads() == expected
        with cpu_threads() as in_use:
            assert in_use == torch.get_num_threads() == expected


def test_siblings_are_one_core(tmp_path: Path) -> None:
    # processors 0 and 2 are one core, 1 and 3 another; older kernels call the file by its second name
    names = {"cpu0": "0,2", "cpu2": "0,2", "cpu1": "1,3", "cpu3": "1,3"}
    written(tmp_path, {f"{cpu}/topology/thread_siblings_list": who for cpu, who in names.items()})
    assert physical_cores({0, 1, 2, 3}, tmp_path) == 2
    assert physical_cores({1, 3}, tmp_path) == 1  # of which the process may use only these
    assert physical_cores({0, 7}, tmp_path) is None  # nothing is known of processor 7
    written(tmp_path, {"cpu0/topology/core_cpus_list": "0", "cpu2/topology/core_cpus_list": "2"})
    assert physical_cores({0, 2}, tmp_path) == 2


@pytest.mark.parametrize(
    ("files", "own", "expected"),
    [
        ({"cpu.max": "max 100000"}, "/", None),
        ({"cpu.max": "250000 100000"}, "/", 2.5),
        ({"cpu.max": "400000 100000", "a/b/cpu.max": "max 100000", "a/cpu.max": "150000 100000"}, "/a/b", 1.5),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, "/", 3.0),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "/", None),
        ({}, "/nowhere", None),
    ],
)
def test_share_of_a_container(files: dict[str, str], own: str, expected: float | None, tmp_path: Path) -> None:
    assert cpu_share(written(tmp_path, files), own) == expected
