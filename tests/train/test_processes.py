"""Several processes share a step. Here they are threads; ``tests/full/test_two_processes.py`` starts real ones."""

import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.errors import TrainingError
from headstart.models.transformers_adapter import TransformersModel
from headstart.train import loop
from headstart.train.batches import Examples
from headstart.train.loop import StepReport, Trainer
from headstart.train.plan import Plan
from headstart.train.processes import ALONE, Processes, check_alone, join
from headstart.train.shards import Shard


@dataclass(frozen=True)
class Threads(Processes):
    """Processes that meet in memory."""

    gate: threading.Barrier = field(default_factory=lambda: threading.Barrier(2))
    slots: list[torch.Tensor] = field(default_factory=lambda: [torch.zeros(0)] * 2)

    def add_up(self, tensors: Iterable[torch.Tensor]) -> None:
        for tensor in tensors:
            self.slots[self.rank] = tensor.clone()
            self.gate.wait()
            total = self.slots[0] + self.slots[1]
            self.gate.wait()
            tensor.copy_(total)


def fresh_heads(projection: str) -> MedusaHeads:
    """Always the same ones; made before there are threads, which share torch's random numbers."""
    torch.manual_seed(1)
    return MedusaHeads(HeadsConfig(hidden_size=32, vocab_size=260, num_heads=3, projection=projection))  # type: ignore[arg-type]


def one_step(model: TransformersModel, processes: Processes, heads: MedusaHeads) -> StepReport:
    """The first step of heads whose answers end within the batch, so that the halves have unequal numbers of labels."""
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(0, 260, (24,), generator=generator)
    states = torch.randn(21, 32, generator=generator)
    lengths = [3, 17, 4]
    shard = Shard(Path(), {}, [0, 1, 2], [0, 0, 0], lengths, [True] * 3, [""] * 3, tokens[:0], tokens, states)
    trainer = Trainer(
        model,
        heads,
        Examples([shard], {0, 1, 2}),
        by_frequency_V=torch.arange(260),
        plan=Plan("", {}, 1, 1, 1, 1.0),
        batch=21,
        peak_rate=1e-3,
        seed=0,
        soft_targets=0.5,
        processes=processes,
    )
    return trainer.train_step()


@pytest.mark.parametrize("projection", ["shared", "own", "low-rank"])
def test_halves_of_a_batch_add_up_to_it(model: TransformersModel, projection: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "training_dtype", lambda device: torch.float32)  # float32: only the order of sums is left to differ
    whole = one_step(model, ALONE, fresh_heads(projection))
    first = Threads(0, 2)
    both = [first, Threads(1, 2, first.gate, first.slots)]
    reports: dict[int, StepReport] = {}
    given = [fresh_heads(projection) for _ in both]
    threads = [
        threading.Thread(target=lambda one=one: reports.update({one.rank: one_step(model, one, given[one.rank])}))  # type: ignore[misc]
        for one in both
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for rank in range(2):
        # the mean over all labels, not the mean of two means; the gradient's norm says the same of the sum of gradients
        assert reports[rank].loss == pytest.approx(whole.loss, rel=1e-5)
        assert reports[rank].loss_K == pytest.approx(whole.loss_K, rel=1e-5)
        assert reports[rank].grad_norm == pytest.approx(whole.grad_norm, rel=1e-4)
    assert reports[0] == reports[1]


def test_shares_follow_one_another_and_leave_nothing_out() -> None:
    parts = [Processes(rank, 3).share(8) for rank in range(3)]
    assert [list(range(8))[part] for part in parts] == [[0, 1], [2, 3, 4], [5, 6, 7]]


@pytest.fixture
def unset(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment in which no launcher has said anything."""
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    ("said", "lacking"),
    [
        ({"WORLD_SIZE": "2"}, "WORLD_SIZE is 2, but RANK, MASTER_ADDR, MASTER_PORT is not set"),
        ({"OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_RANK": "0"}, "OMPI_COMM_WORLD_SIZE is 2, but MASTER_ADDR, MASTER_PORT is"),
        ({"PMI_SIZE": "3", "PMI_RANK": "2", "MASTER_ADDR": "h"}, "PMI_SIZE is 3, but MASTER_PORT is not set"),
    ],
)
def test_alone_unless_started_as_one_of_several(unset: pytest.MonkeyPatch, said: dict[str, str], lacking: str) -> None:
    assert join("auto") == (ALONE, "auto")
    check_alone("it is done")
    for name, value in said.items():
        unset.setenv(name, value)
    with pytest.raises(TrainingError, match=lacking):
        join("cpu")
    with pytest.raises(TrainingError, match=rf"it is done by one process, and this is one of \d \({next(iter(said))}\)"):
        check_alone("it is done")


def test_a_count_that_is_no_number(unset: pytest.MonkeyPatch) -> None:
    unset.setenv("WORLD_SIZE", "x")
    with pytest.raises(TrainingError, match=r"WORLD_SIZE is 'x'; expected a whole number"):
        join("cpu")


def test_a_process_that_is_gone_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(*_: object, **__: object) -> None:
        raise RuntimeError("Connection closed by peer")

    for name in ("all_reduce", "broadcast", "barrier"):
        monkeypatch.setattr(dist, name, gone)
    monkeypatch.setattr(dist, "get_backend", lambda: "gloo")
    one = Processes(1, 2)
    for call in (lambda: one.add_up([torch.zeros(1)]), lambda: one.told(True), one.meet):
        with pytest.raises(TrainingError, match=r"another of the run's processes has ended.*closed by peer.*--resume"):
            call()
