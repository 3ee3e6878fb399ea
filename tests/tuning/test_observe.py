"""Watching heads while the model writes, and replaying what they would have given."""

import pytest
import torch

from headstart.drafters.arrangement import GrownTree, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.errors import DataError
from headstart.request import Request
from headstart.sampling.noise import fold
from headstart.sampling.params import SamplingParams
from headstart.trees.calibration import Calibration
from headstart.trees.shape import TreeShape
from headstart.tuning import observe as observing
from headstart.tuning.learned import learn
from headstart.tuning.observe import BEYOND, Observations, observe
from headstart.tuning.replay import (
    NEVER,
    joint_counts,
    nodes_needed_grown,
    nodes_needed_static,
    replay,
    standard_error,
    tokens_per_step,
)
from tests.decoding import decode
from tests.tiny_models import alphabet_heads, alphabet_model, build, letter_ids, native, noise_heads

# an answer of six tokens: five positions, two heads, three ranks; the last position has no second head's token
RANKS = torch.tensor([[0, 1], [3, 0], [0, 0], [2, 0], [0, BEYOND]])
SURE, UNSURE = torch.tensor([[0.9, 0.05, 0.01], [0.8, 0.1, 0.05]]).log(), torch.tensor([[0.3, 0.2, 0.1], [0.3, 0.2, 0.1]]).log()
SEEN = Observations(RANKS, torch.stack([SURE, UNSURE, UNSURE, UNSURE, SURE]), (5,))


@pytest.fixture(autouse=True)
def few_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observing, "LEAST_POSITIONS", 5)


def test_heads_that_are_always_right() -> None:
    model = native(alphabet_model())
    seen = observe(model, HeadGuesses(alphabet_heads(model).heads, model), [letter_ids("a"), letter_ids("c")], tokens=6)
    assert seen.lengths == (5, 5)
    # every guess is the first one's, until the text has ended: three heads see 3, 3, 3, 2 and 1 tokens more
    end = [[0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, BEYOND], [0, BEYOND, BEYOND]]
    assert seen.rank_EK.tolist() == end * 2
    assert model.cache.rows == 0
    assert seen.part([1]).rank_EK.tolist() == end


def test_too_few_positions() -> None:
    model = native(alphabet_model())
    with pytest.raises(DataError, match="1 prompts gave 3 positions to learn from; expected at least 5"):
        observe(model, HeadGuesses(alphabet_heads(model).heads, model), [letter_ids("a")], tokens=4)


def test_counts_are_joint() -> None:
    # a miss of the first head hides what the second one guessed
    assert dict(joint_counts(SEEN.rank_EK, 3)) == {(0,): 3, (0, 1): 1, (0, 0): 1, (2,): 1, (2, 0): 1}


def test_nodes_needed_of_a_static_tree() -> None:
    shape = TreeShape([[0], [0, 0], [2], [0, 1]])
    assert nodes_needed_static(SEEN.rank_EK, 3, shape).tolist() == [[2, 5], [NEVER, NEVER], [2, 3], [4, NEVER], [2, NEVER]]


def test_nodes_needed_of_grown_trees() -> None:
    """Sure: (0) .9, (0, 0) .72, (0, 1) .09; unsure: (0) .3, (1) .2, (2) .1, (0, 0) .09, (0, 1) and (1, 0) .06, (2, 0) .03."""
    needed = nodes_needed_grown(SEEN, Calibration.none(2), 16).tolist()
    assert needed[0] == [2, 4]
    assert needed[1] == [NEVER, NEVER]
    assert needed[2] == [2, 5]
    assert needed[3][0] == 4
    assert needed[4] == [2, NEVER]
    # a smaller tree is a prefix of a larger one
    for nodes in (1, 2, 4, 5, 8):
        smaller = nodes_needed_grown(SEEN, Calibration.none(2), nodes)
        assert smaller.tolist() == [[n if n <= nodes else NEVER for n in row] for row in needed]


def test_replay_walks_from_root_to_root() -> None:
    needed = nodes_needed_static(SEEN.rank_EK, 3, TreeShape([[0], [0, 0], [2], [0, 1]]))
    # five nodes: position 0 accepts two and leads to 3, which accepts one and leads to the end
    assert replay(needed, (5,), 5) == [(5, 2)]
    # two nodes: 0 -> 2 -> 4 -> end
    assert replay(needed, (5,), 2) == [(5, 3)]
    assert replay(needed, (5,), 1) == [(5, 5)]
    # as two answers, of two and three positions, nothing reaches over the border: 0 -> 2; 2 -> 4 -> end
    assert replay(needed, (2, 3), 2) == [(2, 1), (3, 2)]
    assert tokens_per_step([(2, 1), (3, 2)]) == pytest.approx(5 / 3)


def test_standard_error() -> None:
    assert standard_error([(4, 2), (8, 4)]) == 0.0  # the same ratio twice
    # ratio 2, residuals 2 and -2, mean steps 3: sqrt(8 / 1 / 2) / 3
    assert standard_error([(6, 2), (6, 4)]) == pytest.approx(2 / 3)
    assert standard_error([(6, 2)]) != standard_error([(6, 2)])


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("arrangement", ["grown", "static"])
def test_replay_is_what_decoding_does(arrangement: str, temperature: float) -> None:
    """The very steps of the engine, for every size, with heads of noise that are right now and then (narrow vocabulary)."""
    model = native(build("llama", vocab_size=8, eos_token_id=None))
    guesses = HeadGuesses(noise_heads(model), model)
    params = SamplingParams(temperature=temperature)
    prompts = [[1, 2, 3], [4, 5], [6]]
    seen = observe(model, guesses, prompts, tokens=25, params=params, seed=3)
    tree, calibration = TreeShape.full([3, 2, 2]), Calibration((0.7, 0.9, 1.1), (0.2, 0.0, -0.3))
    if arrangement == "grown":
        drafter = MedusaDrafter(guesses, GrownTree(3, 8, calibration))
        needed = nodes_needed_grown(seen, calibration, 12)
    else:
        drafter = MedusaDrafter(guesses, StaticTree(tree))
        needed = nodes_needed_static(seen.rank_EK, len(seen.log_q_EKR[0, 0]), tree)
    engine = Engine(model, {"none": PlainDrafter(), "medusa": drafter})
    for nodes in (1, 2, 4, 7, 12):
        requests = [
            Request(prompt_ids=ids, params=params, seed=fold(3, i), max_new_tokens=25, drafter="medusa", nodes=nodes)
            for i, ids in enumerate(prompts)
        ]
        steps = [outcome.stats.steps for outcome in decode(engine, requests)]
        predicted = [steps for _, steps in replay(needed, seen.lengths, nodes)]
        # where a text ends a tree is less deep, and with nodes to spare wider: it may save the very last step
        assert all(p - 1 <= s <= p for s, p in zip(steps, predicted)), (nodes, steps, predicted)


def test_each_half_learns_from_the_other() -> None:
    """Answer 1 is right at rank 0 always, answer 2 at rank 1: static trees of two nodes learn the wrong path, and gain nothing."""
    ranks = torch.tensor([[0]] * 4 + [[1]] * 4)
    seen = Observations(ranks, torch.tensor([0.5, 0.4]).log().expand(8, 1, 2), (4, 4))
    learned = learn(seen, [1, 2])
    assert learned.static == {1: 1.0, 2: 1.0}
    assert learned.grown == {1: 1.0, 2: 8 / 6}  # the first guess is right in one of the two: 2 steps and 4
    assert learned.tree.paths == ((0,),)  # as often as (1,): ties go to the lower rank
    assert (learned.total, dict(learned.counts)) == (8, {(0,): 4, (1,): 4})
