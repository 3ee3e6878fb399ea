"""How often a step makes the host wait for the device. On a CPU nobody waits; what is counted is what would wait elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from headstart.drafters.named import named_drafters
from headstart.engine.engine import Engine
from headstart.models.compiled import TREE_SLOTS, CompiledModel
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from tests.decoding import Outcome, run
from tests.tiny_models import CONTEXT, alphabet_heads, alphabet_model, native

_READ_BY_THE_HOST = ("_local_scalar_dense", "nonzero", "masked_select", "unique")


@contextmanager
def watched() -> Iterator[list[str]]:
    """Calls that hand numbers to the host, or whose shapes depend on numbers."""
    waits: list[str] = []

    class Lists(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.Tensor.tolist:
                waits.append("tolist")
            return func(*args, **(kwargs or {}))

    class Numbers(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            masks = [one for one in (args[1] if "aten.index" in str(func) else []) if getattr(one, "dtype", None) is torch.bool]
            if masks or any(name in str(func) for name in _READ_BY_THE_HOST):
                waits.append(str(func))
            return func(*args, **(kwargs or {}))

    with Lists(), Numbers():
        yield waits


def engine() -> Engine:
    """The decoder for accelerators, uncompiled, as if it were on one."""
    slots = 2 * (CONTEXT + TREE_SLOTS)
    model = CompiledModel(native(alphabet_model()), max_rows=2, cache_tokens=slots, backend=None)
    engine = Engine(model, named_drafters(model, alphabet_heads(model)), nodes=5)
    engine._counts_padding = False
    return engine


@pytest.mark.parametrize("drafter", ["none", "medusa", "medusa-static"])
@pytest.mark.parametrize("rows", [1, 2])
def test_a_greedy_step_waits_once(drafter: str, rows: int) -> None:
    """For the chosen tokens and the tree that they are walked through, in one transfer."""
    decoding = engine()
    requests = [Request(prompt_ids=[5 + row, 6 + row], drafter=drafter, max_new_tokens=30) for row in range(rows)]
    outcomes = {decoding.add(request): Outcome() for request in requests}
    while not all(outcome.ids for outcome in outcomes.values()):
        run(decoding, outcomes, 1)
    for _ in range(3):
        before = [len(outcome.ids) for outcome in outcomes.values()]
        with watched() as waits:
            run(decoding, outcomes, 1)
        assert waits == ["tolist"]
        # the letters follow one another: the heads are always right, and 5 nodes hold their chain of 3
        assert [len(outcome.ids) - n for outcome, n in zip(outcomes.values(), before, strict=True)] == (
            [1 if drafter == "none" else 4] * rows
        )


def test_a_sampled_step_waits_for_the_tree_and_each_level() -> None:
    """Where a token depends on the path before it, the walk has to know it before it goes on."""
    decoding = engine()
    request = Request(prompt_ids=[5, 6], drafter="none", max_new_tokens=30, params=SamplingParams(temperature=1.0), seed=3)
    outcomes = {decoding.add(request): Outcome()}
    run(decoding, outcomes, 1)
    with watched() as waits:
        run(decoding, outcomes, 1)
    assert waits.count("tolist") == 2
