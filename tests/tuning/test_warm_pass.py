"""Passes for measuring: their sizes, and that nothing of them stays."""

import pytest
import torch

from headstart.errors import InvalidParameterError
from headstart.tuning.warm_pass import WarmPass, likely_shape
from tests.decoding import Spy
from tests.tiny_models import adapter, native, tiny


@pytest.mark.parametrize("make", [native, adapter])
def test_sizes_and_what_stays(make: type) -> None:
    model = Spy(make(tiny("llama")))
    with WarmPass(model, context=20, nodes=9, rows=3) as one_pass:
        assert model.cache.lengths == [20, 20, 20]
        one_pass(1)
        one_pass(9, 2)
        assert one_pass.timed(4, 3) > 0
        assert model.cache.lengths == [20, 20, 20]  # nothing is committed
    assert model.verified == [(1, 1), (2, 9), (3, 4)]
    assert model.projected == [1, 18, 12]  # the logits of every node
    assert model.cache.rows == 0


def test_likely_shape() -> None:
    # first guesses .6, then .48, .384 below; each next rank .35 of the one before: .6 .288 .21 .111 .101 .1 .0735
    assert likely_shape(1).paths == ()
    assert likely_shape(8).paths == ((0,), (0, 0), (1,), (0, 0, 0), (0, 1), (1, 0), (2,))
    for nodes in (1, 2, 16, 64, 256):
        assert len(likely_shape(nodes)) == nodes
        assert likely_shape(nodes).depth < 16  # what attention with equal bits takes


def test_a_failed_start_leaves_the_cache_empty(monkeypatch: pytest.MonkeyPatch) -> None:
    model = native(tiny("llama"))

    def fail(*_: object) -> torch.Tensor:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(model, "prefill", fail)
    with pytest.raises(RuntimeError), WarmPass(model, context=4, nodes=2):
        pass
    assert model.cache.rows == 0


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"context": 0, "nodes": 1}, "expected at least 1 each"),
        ({"context": 127, "nodes": 2}, "do not fit into the model's 128 positions"),
        ({"context": 100, "nodes": 8, "rows": 9}, r"max_rows=8, cache_tokens=4096"),
    ],
)
def test_sizes_that_do_not_fit(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        WarmPass(native(tiny("llama")), **sizes)


def test_a_cache_in_use() -> None:
    model = native(tiny("llama"))
    model.cache.add_row(4)
    with pytest.raises(InvalidParameterError, match="holds 1 rows"):
        WarmPass(model, context=4, nodes=1)
