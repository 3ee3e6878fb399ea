"""Times of whole steps: which sizes run when, and what counts."""

from collections.abc import Sequence

import pytest

from headstart.drafters.arrangement import StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.errors import InvalidParameterError
from headstart.models.protocol import BaseModel
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape
from headstart.tuning.step_times import Rotation, measure_steps
from tests.decoding import Spy
from tests.tiny_models import native, noise_heads, tiny


def drafter(model: BaseModel) -> MedusaDrafter:
    return MedusaDrafter(HeadGuesses(noise_heads(model), model), StaticTree(TreeShape.full([4, 3])))


def test_rotation() -> None:
    rotation = Rotation((4, 1, 2), rows=2)
    asked = []
    for _ in range(7):
        asked.append(rotation.nodes(2))
        rotation.observe(2, asked[-1], [0, 0], 1.0)
    # each round begins with the next size
    assert asked == [1, 2, 4, 2, 4, 1, 4]
    assert (rotation.rounds, rotation.sizes) == (2, (1, 2, 4))
    rotation.observe(1, 4, [0], 9.0)  # a batch that is not full is no time
    assert rotation.times == {1: [1.0] * 2, 2: [1.0] * 2, 4: [1.0] * 3}


def test_all_sizes_take_turns() -> None:
    model = Spy(native(tiny("llama")))
    points = measure_steps(model, drafter(model), [[5, 6], [7]], sizes=(1, 2, 4), rows=2, rounds=4)
    assert [(point.rows, point.nodes, point.passes) for point in points] == [(2, 1, 4), (2, 2, 4), (2, 4, 4)]
    assert all(0 < point.q1 <= point.median <= point.q3 for point in points)
    # a round of warming up and four that count, each beginning with the next size
    order = [1, 2, 4, 2, 4, 1, 4, 1, 2, 1, 2, 4, 2, 4, 1]
    assert [nodes for rows, nodes in model.verified if rows == 2][: len(order)] == order
    assert model.cache.rows == 0


def test_texts_that_end_are_followed_by_others() -> None:
    """A context of 128 ends long before forty rounds do."""
    model = native(tiny("llama"))
    points = measure_steps(model, drafter(model), [[5] * 60], sizes=(1, 4, 8), rows=1, rounds=40)
    assert [point.passes for point in points] == [40, 40, 40]


def test_steps_are_those_of_the_temperature() -> None:
    """Drafts and draws need noise above temperature 0, which takes its time."""
    seen: set[float] = set()

    class Watching(MedusaDrafter):
        def propose(self, rows: Sequence[int], sampling: Sequence[RowSampling], budgets: Sequence[Budget]) -> CandidateTree:
            seen.update(row.params.temperature for row in sampling)
            return super().propose(rows, sampling, budgets)

    model = native(tiny("llama"))
    watching = Watching(HeadGuesses(noise_heads(model), model), StaticTree(TreeShape.full([4, 3])))
    measure_steps(model, watching, [[5, 6]], sizes=(1, 2), rows=1, rounds=1, params=SamplingParams(temperature=0.6))
    assert seen == {0.6}


def test_it_ends_with_its_time() -> None:
    model = native(tiny("llama"))
    points = measure_steps(model, drafter(model), [[5, 6]], sizes=(1, 2), rows=1, rounds=1000, seconds=0.0)
    assert [point.passes for point in points] == [3, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 9}, "9 rows with prompts of up to 4 tokens and trees of 2 nodes have no room"),
        ({"prompts": [[1] * 120]}, "context 128"),
    ],
)
def test_no_room(options: dict[str, object], message: str) -> None:
    model = native(tiny("llama"))
    prompts = options.pop("prompts", [[1] * 4])
    with pytest.raises(InvalidParameterError, match=message):
        measure_steps(model, drafter(model), prompts, sizes=(1, 2), **{"rows": 1, **options})  # type: ignore[arg-type]
