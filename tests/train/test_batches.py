from pathlib import Path

import pytest
import torch

from headstart.train.batches import Examples, Order
from headstart.train.held_out import held_out
from headstart.train.shards import Shard

CPU = torch.device("cpu")


def shard(first_token: int, lengths: list[int], conversations: list[int]) -> Shard:
    """Tokens count up from ``first_token``; the state that predicted token t is [t]."""
    tokens = torch.arange(first_token, first_token + sum(lengths))
    states, at = [], 0
    for length in lengths:
        states += tokens[at : at + length - 1].tolist()
        at += length
    return Shard(
        path=Path(),
        metadata={},
        conversation_ids=conversations,
        prompt_lengths=[0] * len(lengths),
        answer_lengths=lengths,
        greedy=[True] * len(lengths),
        kinds=[""] * len(lengths),
        prompt_tokens=tokens[:0],
        tokens=tokens,
        hidden_SD=torch.tensor(states, dtype=torch.float32)[:, None],
    )


@pytest.fixture
def shards() -> list[Shard]:
    return [shard(100, [4, 1, 3], [0, 0, 1]), shard(200, [2, 5], [2, 3])]


def test_head_k_of_an_example_guesses_the_token_k_plus_one_behind_the_root(shards: list[Shard]) -> None:
    examples = Examples(shards, {0, 3})
    assert len(examples) == 3 + 0 + 4  # all tokens of an answer but its last are roots
    batch = examples.gather(torch.tensor([6, 0, 2, 3]), 3, CPU)
    assert batch.roots_B.tolist() == [205, 100, 102, 202]
    assert batch.hidden_BD.squeeze(-1).tolist() == [205, 100, 102, 202]  # the state that predicted the root
    assert batch.targets_BK.tolist() == [
        [206, -1, -1],  # the answer ends with 206
        [101, 102, 103],
        [103, -1, -1],  # 104 begins another answer
        [203, 204, 205],
    ]


def test_the_states_behind_the_targets(shards: list[Shard]) -> None:
    """That of token t is [t]; the one behind an answer's last token was never recorded."""
    examples = Examples(shards, {0, 3})
    batch = examples.gather(torch.tensor([6, 0, 2, 3]), 3, CPU, deciding=True)
    assert batch.deciding_BKD is not None
    assert batch.known_BK is not None
    assert batch.deciding_BKD.squeeze(-1).tolist() == [[0, 0, 0], [101, 102, 0], [0, 0, 0], [203, 204, 205]]
    assert torch.equal(batch.known_BK, batch.deciding_BKD.squeeze(-1) > 0)
    assert examples.gather(torch.tensor([0]), 3, CPU).deciding_BKD is None


def test_conversations_outside_the_set_are_left_out(shards: list[Shard]) -> None:
    assert Examples(shards, {1}).gather(torch.tensor([0, 1]), 1, CPU).roots_B.tolist() == [105, 106]
    assert len(Examples(shards, set())) == 0


def test_a_batch_is_described_by_shards_and_conversations(shards: list[Shard]) -> None:
    assert Examples(shards, {0, 1, 3}).describe(torch.tensor([0, 8])) == "shards 0, 1, conversations 0, 3"


def test_every_epoch_is_another_permutation_known_from_seed_and_epoch() -> None:
    order = Order(10, 3, seed=5)
    assert order.per_epoch == 3  # the tenth example waits for the next epoch
    epochs = [torch.cat([order[epoch * 3 + i] for i in range(3)]).tolist() for epoch in range(3)]
    assert all(len(set(epoch)) == 9 for epoch in epochs)
    assert epochs[0] != epochs[1] != epochs[2]
    assert Order(10, 3, seed=5)[7].tolist() == epochs[2][3:6]  # asked for out of order, as after a resume
    assert Order(10, 3, seed=6)[0].tolist() != epochs[0][:3]


def test_fewer_examples_than_a_batch() -> None:
    assert sorted(Order(4, 100, seed=0)[3].tolist()) == [0, 1, 2, 3]


def test_held_out_conversations_are_spread_evenly() -> None:
    aside = held_out(list(range(400)), 0.05, 8)
    assert len(aside) == 20
    assert sorted(aside)[:3] == [10, 30, 50]
    assert len(held_out(list(range(20)), 0.05, 8)) == 8
