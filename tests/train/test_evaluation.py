import torch

from headstart.train.batches import AnswerSpan
from headstart.train.evaluation import BEYOND, WIDTH, joint_counts, simulate
from headstart.trees.shape import TreeShape

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
    assert simulate(TreeShape([[0], [0, 0]]), RANKS_EK, [SPAN]) == (5, 2)
    # without guesses every step emits one token
    assert simulate(TreeShape([]), RANKS_EK, [SPAN]) == (5, 5)
    # example 0 gives all of (0, 1): 3 tokens, to example 3, where nothing fits, then example 4: 3 steps
    assert simulate(TreeShape([[0], [0, 1]]), RANKS_EK, [SPAN]) == (5, 3)
