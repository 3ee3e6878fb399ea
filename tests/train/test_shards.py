from pathlib import Path

import pytest
import torch

from headstart.errors import DataError
from headstart.train.shards import Answer, Place, read_shard, shard_path, write_shard


def answer(prompt: list[int], ids: list[int], *, kind: str = "qa", greedy: bool = True) -> Answer:
    """State i holds the value of id i, so that a mix-up shows."""
    return Answer(prompt, ids, torch.tensor(ids[:-1], dtype=torch.bfloat16)[:, None].expand(-1, 3), greedy, kind)


def told(conversations: list[list[Answer]]) -> list[list[dict[str, object]]]:
    return [[{**vars(each), "hidden_TD": each.hidden_TD.tolist()} for each in group] for group in conversations]


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
    assert list(shard.places()) == [  # prompts of 2, 1 and 1 ids, answers of 3, 1 and 2, states of 2, 0 and 1
        Place(10, True, "qa", slice(0, 2), slice(0, 3), slice(0, 2)),
        Place(10, True, "chat", slice(2, 3), slice(3, 4), slice(2, 2)),
        Place(12, False, "qa", slice(3, 4), slice(4, 6), slice(2, 3)),
    ]


def test_conversations_come_back_as_they_were_given(tmp_path: Path) -> None:
    """With their states; or with none, where none were kept."""
    groups = [[answer([1, 2], [5, 6, 7]), answer([3], [9], kind="chat")], [answer([4], [8, 2], greedy=False)]]
    write_shard(tmp_path / "a", 10, groups, {})
    assert told(read_shard(tmp_path / "a").conversations()) == told(groups)
    bare = [[each.without_states() for each in group] for group in groups]
    write_shard(tmp_path / "b", 10, bare, {"cache": "none"})
    conversations = read_shard(tmp_path / "b", states=False).conversations()
    assert [[(each.ids, len(each.hidden_TD)) for each in group] for group in conversations] == [
        [([5, 6, 7], 0), ([9], 0)],
        [([8, 2], 0)],
    ]


def test_a_shard_without_answers_is_fine(tmp_path: Path) -> None:
    assert write_shard(tmp_path / "a", 0, [[], []], {}) == 0
    shard = read_shard(tmp_path / "a")
    assert shard.answer_lengths == []
    assert list(shard.places()) == []


def test_a_damaged_shard_is_named(tmp_path: Path) -> None:
    """Whoever reads it may have no run that makes it anew, so that deleting it is advised where it was recorded alone."""
    path = tmp_path / "a"
    write_shard(path, 0, [[answer([1], [5, 6, 7])]], {})
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DataError, match=rf"{path} cannot be read.*\. Copy it again; or delete it where it was recorded, and have"):
        read_shard(path)
    with pytest.raises(DataError, match=rf"{path} cannot be read.*\. Give it up$"):
        read_shard(path, advice="Give it up")
