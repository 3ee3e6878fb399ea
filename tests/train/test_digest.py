"""Whatever is changed changes the digest, also where all counts stay the same."""

from dataclasses import replace

import pytest
import torch

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.train.digest import digest_of_answers, digest_of_heads
from headstart.train.shards import Shard
from tests.train.test_batches import shard


def two() -> list[Shard]:
    return [shard(100, [4, 1, 3], [0, 0, 1]), shard(200, [2, 5], [2, 3])]


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": torch.tensor([100, 101, 102, 103, 104, 105, 107, 106])},
        {"answer_lengths": [1, 4, 3]},
        {"prompt_tokens": torch.tensor([7])},
        {"prompt_lengths": [0, 0, 1]},
        {"conversation_ids": [0, 1, 1]},
        {"greedy": [True, True, False]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_of_answers(change: dict[str, object]) -> None:
    first, second = two()
    assert digest_of_answers([first, second]) == digest_of_answers(two())
    assert digest_of_answers([replace(first, **change), second]) != digest_of_answers(two())  # type: ignore[arg-type]
    assert digest_of_answers([second, first]) != digest_of_answers(two())
    assert digest_of_answers([first]) != digest_of_answers(two())


def test_states_and_places_on_the_disk_do_not_matter() -> None:
    """The same answers recorded in another precision, and copied elsewhere."""
    first, second = two()
    moved = replace(first, path=first.path / "elsewhere", metadata={"seed": "1"}, hidden_SD=first.hidden_SD.to(torch.bfloat16))
    assert digest_of_answers([moved, second]) == digest_of_answers(two())


def made(**options: object) -> MedusaHeads:
    torch.manual_seed(0)
    return MedusaHeads(HeadsConfig(hidden_size=8, vocab_size=20, num_heads=2, **options)).bfloat16()  # type: ignore[arg-type]


def test_of_heads() -> None:
    assert digest_of_heads(made()) == digest_of_heads(made())
    trained = made()
    with torch.no_grad():
        trained.block_bias[0, 1, 3] = 0.5  # a single number
    assert digest_of_heads(trained) != digest_of_heads(made())
    ids = [torch.tensor(ids) for ids in ([3, 4, 5], [3, 4, 6])]
    config = HeadsConfig(hidden_size=8, vocab_size=20, num_heads=2, draft_vocab_size=3)
    among = [MedusaHeads(config, ids_V) for ids_V in ids]
    among[1].load_state_dict({**among[0].state_dict(), "draft_ids_V": ids[1]})
    assert digest_of_heads(among[0]) != digest_of_heads(among[1])
    # with the same tensors
    zero = [made(block=block, condition_on_root=False) for block in ("residual", "mlp")]
    for heads in zero:
        torch.nn.init.zeros_(heads.block_weight)
    assert digest_of_heads(zero[0]) != digest_of_heads(zero[1])
