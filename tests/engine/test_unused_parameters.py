"""What is not asked for costs nothing: the operations of torch that a step dispatches are counted, not timed."""

from collections import Counter
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from headstart.acceptance.walk import walk
from headstart.drafters.arrangement import StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape
from tests.tiny_models import native, noise_heads, tiny

NEUTRAL: dict[str, Any] = {
    "top_k": None,
    "top_p": 1.0,
    "min_p": 0.0,
    "typical_p": 1.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "logit_bias": {3: 0.0},
    "bad_words": [],
    "allowed_token_ids": None,
    "logits_processors": [],
}
"""Every parameter, named and without effect."""
USED: dict[str, dict[str, Any]] = {
    "repetition_penalty": {"repetition_penalty": 1.1},
    "presence_penalty": {"presence_penalty": 0.5},
    "logit_bias": {"logit_bias": {3: 1.0}},
    "bad_words": {"bad_words": [[3]]},
    "allowed_token_ids": {"allowed_token_ids": list(range(9))},
    "logits_processors": {"logits_processors": [lambda ids, scores: scores + 1]},
}


class Count(TorchDispatchMode):
    """Counts operations by name."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.operations[str(func)] += 1
        return func(*args, **(kwargs or {}))


def of_a_step(params: SamplingParams, **options: Any) -> Counter[str]:
    """The operations of the third step of a text, the whole engine's."""
    model = native(tiny("llama"))
    drafter = MedusaDrafter(HeadGuesses(noise_heads(model), model), StaticTree(TreeShape.full([3, 2])))
    engine = Engine(model, {"none": PlainDrafter(), "medusa": drafter}, nodes=10)
    engine.add(Request(prompt_ids=[5, 9], drafter="medusa", params=params, seed=1, max_new_tokens=30, **options))
    engine.step()
    engine.step()
    with Count() as count:
        engine.step()
    return count.operations


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_step_with_neutral_parameters_is_a_step_without(temperature: float) -> None:
    without = of_a_step(SamplingParams(temperature=temperature))
    assert of_a_step(SamplingParams(temperature=temperature, **NEUTRAL), min_new_tokens=20) == without  # there is no stop id


@pytest.mark.parametrize("name", USED)
def test_the_count_sees_what_is_used(name: str) -> None:
    """Greedy, so that the same step without the parameter is one argmax over all nodes."""
    assert sum(of_a_step(SamplingParams(**USED[name])).values()) > sum(of_a_step(SamplingParams()).values())


def test_a_greedy_walk_is_one_argmax() -> None:
    shape = TreeShape.full([3, 2])
    tree = CandidateTree.of_shape(shape, torch.zeros(1, len(shape), dtype=torch.int64))
    row = RowSampling(params=SamplingParams(**NEUTRAL), seed=0, prompt_length=1, generated=[0])
    logits = torch.randn(1, len(shape), 64)
    with Count() as count:
        walk(tree, logits, [row])
    # the stack brings the choices and the tree to the host in one transfer
    assert count.operations == {"aten.argmax.default": 1, "aten.stack.default": 1}


def test_a_walk_with_noise_costs_the_nodes_that_it_reaches() -> None:
    """No node matches, so that one place is drawn for: as many operations for a chain of two nodes as for a tree of ten."""

    def operations(shape: TreeShape) -> Counter[str]:
        tree = CandidateTree.of_shape(shape, torch.full((1, len(shape)), 63))
        logits = torch.zeros(1, len(shape), 64)
        logits[..., 5] = 50.0  # what is drawn, and nobody's guess
        row = RowSampling(params=SamplingParams(temperature=1.0), seed=0, prompt_length=1, generated=[63])
        with Count() as count:
            walk(tree, logits, [row])
        return count.operations

    assert operations(TreeShape.chain(1)) == operations(TreeShape.full([3, 2]))
