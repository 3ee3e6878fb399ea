import torch

from headstart.train.batches import AnswerSpan
from headstart.train.simulation import (
    BEYOND,
    WIDTH,
    Guesses,
    cross_simulated,
    joint_counts,
    simulate,
)
from headstart.trees.shape import TreeShape
from tests.train.accepted import accepted_in

# an answer of 6 tokens: 5 examples, two heads; the last example has no second head's token
RANKS_EK = torch.tensor([[0, 1], [WIDTH, 0], [0, 0], [2, 0], [0, BEYOND]], dtype=torch.int8)
SPAN = AnswerSpan(first=0, count=5, conversation=0, shard=0, greedy=True)


def test_counts_are_joint_along_the_rank_path() -> None:
    counts, total = joint_counts(RANKS_EK, [SPAN])
    # a miss of head 1 hides what head 2 guessed; what lies beyond the answer ends the path
    assert dict(counts) == {(0,): 3, (0, 1): 1, (0, 0): 1, (2,): 1, (2, 0): 1}
    assert total == 5


def test_simulation_walks_from_root_to_root() -> None:
    # from example 0 the tree accepts (0) and not (0, 1): 2 tokens, to example 2; there (0, 0): 3 tokens, to the end
    assert simulate(accepted_in(TreeShape([[0], [0, 0]]), RANKS_EK), [SPAN]) == (5, 2)
    # without guesses every step emits one token
    assert simulate(accepted_in(TreeShape([]), RANKS_EK), [SPAN]) == (5, 5)
    # example 0 gives all of (0, 1): 3 tokens, to example 3, where nothing fits, then example 4: 3 steps
    assert simulate(accepted_in(TreeShape([[0], [0, 1]]), RANKS_EK), [SPAN]) == (5, 3)


def test_each_half_learns_from_the_other() -> None:
    """Two conversations, one node: the first is always right at rank 0, the second at rank 1, so each learns the wrong path."""
    ranks = torch.tensor([[0]] * 4 + [[1]] * 4, dtype=torch.int8)
    seen = Guesses(ranks, torch.tensor([0.5, 0.4]).log().expand(8, 1, 2))
    spans = [AnswerSpan(first=4 * i, count=4, conversation=i, shard=0, greedy=True) for i in range(2)]
    simulated = cross_simulated(seen, spans, [1, 2])
    assert (simulated[1].static, simulated[1].static_steps, simulated[1].grown) == (1.0, 8, 1.0)
    assert (simulated[2].static, simulated[2].static_steps) == (1.0, 8)
    assert simulated[2].grown == 8 / 6  # the first guess of each step is taken: right in one of the two, 2 steps and 4
    assert cross_simulated(seen, spans[:1], [2]) == {}
