"""A row's room: how many positions it can take and how large its next tree may be."""

import pytest

from headstart.engine.budget import FixedBudget
from headstart.engine.row import Row
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget


def row(limit: int, nodes: int, generated: int) -> Row:
    sampling = RowSampling(params=SamplingParams(), seed=0, prompt_length=4, generated=[1] * generated)
    return Row(number=0, request=Request(prompt_ids=[1] * 4), sampling=sampling, limit=limit, tree=FixedBudget(nodes))


def test_it_runs_from_its_first_root_on() -> None:
    assert not row(10, 8, 0).running
    assert row(10, 8, 1).running


def test_positions_are_those_of_the_prompt_and_all_new_ids() -> None:
    assert row(10, 8, 3).slots == 14


@pytest.mark.parametrize(
    ("generated", "depth"),
    [
        (1, 7),  # nine are left: as deep as eight nodes can be
        (3, 6),  # seven are left: six guesses and the token after them
        (8, 1),
        (9, 0),  # one is left, and it is the base model's own
    ],
)
def test_a_step_never_emits_more_than_is_left(generated: int, depth: int) -> None:
    """A tree of depth d emits up to d + 1 ids."""
    assert row(10, 8, generated).budget(1) == Budget(nodes=8, depth=depth)


def test_one_node_is_the_root_alone() -> None:
    assert row(10, 1, 1).budget(1) == Budget(nodes=1, depth=0)
