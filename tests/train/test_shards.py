from pathlib import Path

import pytest
import torch

from headstart.errors import DataError
from headstart.train.shards import Answer, read_shard, shard_path, write_shard


def answer(prompt: list[int], ids: list[int], *, kind: str = "qa", greedy: bool = True) -> Answer:
    """State i holds the value of id i, so that a mix-up shows."""
    return Answer(prompt, ids, torch.tensor(ids[:-1], dtype=torch.bfloat16)[:, None].expand(-1, 3), greedy, kind)


def test_comes_back_as_written(tmp_path: Path) -> None:
    path = shard_path(tmp_path, 4)
    groups = [[answer([1, 2], [5, 6, 7]), answer([3], [9], kind="chat")], [], [answer([4], [8, 2], greedy=False)]]
    assert write_shard(path, 10, groups, {"seed": "3"}) == 6  # 3 + 1 + 2 answer ids
    shard = read_shard(path)
    assert path.name == "shard-00004.safetensors"
    assert shard.conversation_ids == [10, 10, 12]  # the second conversation came to nothing
    assert shard.prompt_lengths == [2, 1, 1]
    assert shard.answer_lengths == [3, 1, 2]
    assert shard.greedy == [True, True, False]
    assert shard.kinds == ["qa", "chat", "qa"]
    assert shard.tokens.tolist() == [5, 6, 7, 9, 8, 2]
    assert shard.prompt_tokens.tolist() == [1, 2, 3, 4]
    assert shard.hidden_SD.tolist() == [[5, 5, 5], [6, 6, 6], [8, 8, 8]]  # one state for each id but an answer's last
    assert shard.hidden_SD.dtype == torch.bfloat16
    assert shard.metadata["seed"] == "3"


def test_a_shard_without_answers_is_fine(tmp_path: Path) -> None:
    assert write_shard(tmp_path / "a", 0, [[], []], {}) == 0
    assert read_shard(tmp_path / "a").answer_lengths == []


def test_a_damaged_shard_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_shard(path, 0, [[answer([1], [5, 6, 7])]], {})
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DataError, match=f"{path} cannot be read.*made anew"):
        read_shard(path)
