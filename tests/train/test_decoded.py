"""Measured by decoding: the engine's counts, told for the held-out prompts."""

from pathlib import Path

import torch
from transformers import LlamaForCausalLM

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.models.transformers_adapter import TransformersModel
from headstart.train.decoded import decode, held_out_prompts
from headstart.train.shards import Answer, read_shard, write_shard
from headstart.trees.shape import TreeShape
from tests.tiny_models import noise_heads


def test_the_first_prompts_of_held_out_conversations_greedy_ones_before_others(tmp_path: Path) -> None:
    def answer(first: int, greedy: bool) -> Answer:
        return Answer([first, 9], [1, 2], torch.zeros(1, 4), greedy, "k")

    groups = [[answer(10 * i, i % 2 == 0), answer(10 * i + 1, True)] for i in range(8)]
    write_shard(tmp_path / "s", 0, groups, {})
    shards = [read_shard(tmp_path / "s")]
    # of an even conversation the first answer is greedy, of an odd one the second
    assert held_out_prompts(shards, {2, 3, 6}) == [[20, 9], [31, 9], [60, 9]]
    assert held_out_prompts(shards, set(range(8)), count=2) == [[0, 9], [40, 9]]
    write_shard(tmp_path / "t", 0, [[answer(i, False)] for i in range(3)], {})
    assert held_out_prompts([read_shard(tmp_path / "t")], {1, 2}) == [[1, 9], [2, 9]]


def test_tokens_per_step_are_those_of_the_engine(llama: LlamaForCausalLM, model: TransformersModel) -> None:
    """Heads of noise guess next to nothing, so nearly every token takes a step; what was given is left as it was."""
    directory = HeadsDirectory(noise_heads(model), TreeShape.chain(2), base_check=None)
    before = {name: tensor.clone() for name, tensor in directory.heads.state_dict().items()}
    prompts = [[1, 2, 3], [4, 5], list(range(100)) * 11]  # the last one leaves no room in the context
    grown, static = decode(model, directory, prompts, stop_ids=frozenset(), max_new_tokens=12)
    assert (grown.drafter, static.drafter) == ("medusa", "medusa-static")
    for found in (grown, static):
        assert (found.answers, found.tokens) == (2, 22)
        assert 11 <= found.steps <= 22
        assert found.lowest <= found.tokens_per_step == 22 / found.steps <= found.highest
        assert f"{22 / found.steps:.2f} at 8 nodes" in found.line
        assert found.to_dict()["tokens_per_step"] == found.tokens_per_step
    assert all(torch.equal(before[name], tensor) for name, tensor in directory.heads.state_dict().items())
    assert model.cache.rows == 0
    assert decode(model, directory, prompts, stop_ids=frozenset(), max_new_tokens=1) == []  # no step was made
