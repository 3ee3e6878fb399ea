from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import LlamaForCausalLM

from headstart.errors import DataError
from headstart.models.transformers_adapter import TransformersModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.conversations import Given
from headstart.train.generation import Regenerated, SelfWritten, fill, recipe_for, recording_pool
from headstart.train.scripts import Recipe
from headstart.train.shards import Answer, Shard
from headstart.trees.candidate import CandidateTree


@pytest.fixture
def recipe(model: TransformersModel, tokenizer: Tokenizer) -> Recipe:
    return recipe_for(model, tokenizer, seed=7, max_new_tokens=30)


def self_written(model: TransformersModel, recipe: Recipe) -> SelfWritten:
    return SelfWritten(recording_pool(model, max_rows=8), recipe)


@torch.no_grad()
def assert_states_are_the_models(llama: LlamaForCausalLM, answer: Answer) -> None:
    ids = torch.tensor([[*answer.prompt_ids, *answer.ids]])
    first = len(answer.prompt_ids) - 1  # the last prompt position predicts the first answer id
    expected = llama.model(ids).last_hidden_state[0, first : first + len(answer.ids) - 1]
    torch.testing.assert_close(answer.hidden_TD, expected, atol=1e-4, rtol=1e-4)


def test_recorded_states_are_those_of_one_pass_over_the_text(
    llama: LlamaForCausalLM, model: TransformersModel, recipe: Recipe
) -> None:
    """The states kept while writing are what transformers computes for the finished text, position by position."""
    groups = self_written(model, recipe).conversations(0, 10, lambda tokens: None)
    answers = [answer for group in groups for answer in group]
    assert len(answers) > 10  # every second conversation has a second answer
    for answer in answers:
        assert_states_are_the_models(llama, answer)


@torch.no_grad()
def test_greedy_answers_are_greedy_and_end_at_the_stop_id_or_the_limit(
    llama: LlamaForCausalLM, model: TransformersModel, recipe: Recipe
) -> None:
    answers = [a for group in self_written(model, recipe).conversations(0, 12, lambda tokens: None) for a in group]
    assert {answer.greedy for answer in answers} == {True, False}
    for answer in answers:
        stops = [i for i, token in enumerate(answer.ids) if token in recipe.stop_ids]
        assert stops == ([len(answer.ids) - 1] if len(answer.ids) < 30 or answer.ids[-1] in recipe.stop_ids else [])
        if answer.greedy:
            logits = llama(torch.tensor([[*answer.prompt_ids, *answer.ids]])).logits[0]
            first = len(answer.prompt_ids) - 1
            assert logits[first : first + len(answer.ids)].argmax(-1).tolist() == list(answer.ids)


def test_the_same_question_gets_another_sample_each_time(model: TransformersModel, tokenizer: Tokenizer) -> None:
    """Six conversations with one prompt: the sampled ones (every third) differ, the greedy ones are equal."""
    given = [Given(f"f:{i}", messages=[{"role": "user", "content": "Hello?"}]) for i in range(6)]
    source = Regenerated(recording_pool(model, max_rows=8), recipe_for(model, tokenizer, seed=1, max_new_tokens=12), given)
    texts = [tuple(group[0].ids) for group in source.conversations(0, 6, lambda tokens: None)]
    assert texts[0] == texts[1] == texts[3] == texts[4]
    assert len({texts[0], texts[2], texts[5]}) == 3


def test_answers_do_not_depend_on_how_many_rows_run(model: TransformersModel, recipe: Recipe) -> None:
    wide = self_written(model, recipe).conversations(0, 5, lambda tokens: None)
    narrow = SelfWritten(recording_pool(model, max_rows=2), recipe).conversations(0, 5, lambda tokens: None)
    assert [[list(a.ids) for a in group] for group in wide] == [[list(a.ids) for a in group] for group in narrow]


def test_later_turns_follow_the_models_own_answers(model: TransformersModel, tokenizer: Tokenizer) -> None:
    messages = [
        {"role": "user", "content": "One?"},
        {"role": "assistant", "content": "a given answer, which is not used"},
        {"role": "user", "content": "Two?"},
    ]
    recipe = recipe_for(model, tokenizer, seed=1, max_new_tokens=8)
    source = Regenerated(recording_pool(model, max_rows=8), recipe, [Given("f:1", messages=messages)])
    first, second = source.conversations(0, 1, lambda tokens: None)[0]
    own = [messages[0], {"role": "assistant", "content": tokenizer.decode(first.ids)}, messages[2]]
    assert list(second.prompt_ids) == tokenizer.chat_ids(own)


def test_plain_texts_are_written_on_from_their_beginning(model: TransformersModel, tokenizer: Tokenizer) -> None:
    text = "It was a dark and stormy night, and the rain fell in torrents."
    recipe = recipe_for(model, tokenizer, seed=1, max_new_tokens=8)
    source = Regenerated(recording_pool(model, max_rows=8), recipe, [Given("f:1", text=text)])
    (answer,) = source.conversations(0, 1, lambda tokens: None)[0]
    assert list(answer.prompt_ids) == tokenizer.encode(text)[:32]


def test_a_prompt_beyond_the_context_is_left_out(model: TransformersModel, recipe: Recipe) -> None:
    given = [Given("f:1", messages=[{"role": "user", "content": "x" * 2000}])]
    assert Regenerated(recording_pool(model, max_rows=8), recipe, given).conversations(0, 1, lambda tokens: None) == [[]]


class Dying(TransformersModel):
    """A model whose process is killed at a pass."""

    passes_left = 1 << 30

    def verify(self, tree: CandidateTree) -> torch.Tensor:
        self.passes_left -= 1
        if self.passes_left < 0:
            raise KeyboardInterrupt
        return super().verify(tree)


def filled(directory: Path, model: TransformersModel, tokenizer: Tokenizer, tokens: int = 400) -> Sequence[Shard]:
    recipe = recipe_for(model, tokenizer, seed=7, max_new_tokens=30)
    return fill(directory, self_written(model, recipe), tokens=tokens, shard_size=8, metadata={"seed": "7"})


@pytest.mark.parametrize("passes", [1, 60])
def test_a_killed_run_goes_on_with_the_very_same_shards(
    llama: LlamaForCausalLM, model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path, passes: int
) -> None:
    filled(tmp_path / "whole", model, tokenizer)
    dying = Dying(llama, name="tiny", max_rows=8, cache_tokens=8 * 1024)
    dying.passes_left = passes
    with pytest.raises(KeyboardInterrupt):
        filled(tmp_path / "killed", dying, tokenizer)
    filled(tmp_path / "killed", TransformersModel(llama, name="tiny", max_rows=8, cache_tokens=8 * 1024), tokenizer)
    files = [sorted((tmp_path / name).iterdir()) for name in ("whole", "killed")]
    assert len(files[0]) > 1
    assert [f.name for f in files[0]] == [f.name for f in files[1]]
    for one, other in zip(*([load_file(path) for path in paths] for paths in files), strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)  # bit for bit


def test_shards_of_another_run_are_refused(model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path) -> None:
    filled(tmp_path, model, tokenizer, tokens=1)
    recipe = recipe_for(model, tokenizer, seed=8, max_new_tokens=12)
    with pytest.raises(DataError, match="made with seed=7, this run has seed=8"):
        fill(tmp_path, self_written(model, recipe), tokens=1, shard_size=8, metadata={"seed": "8"})


def test_a_run_may_delete_its_own_damaged_shard(model: TransformersModel, tokenizer: Tokenizer, tmp_path: Path) -> None:
    (shard,) = filled(tmp_path, model, tokenizer, tokens=1)
    whole = {name: tensor.clone() for name, tensor in load_file(shard.path).items()}  # they lie in the file itself
    shard.path.write_bytes(shard.path.read_bytes()[:-5])
    with pytest.raises(DataError, match=r"cannot be read.*\. Delete it and use --resume: it is made anew$"):
        filled(tmp_path, model, tokenizer, tokens=1)
    shard.path.unlink()
    filled(tmp_path, model, tokenizer, tokens=1)
    anew = load_file(shard.path)
    assert all(torch.equal(anew[name], tensor) for name, tensor in whole.items())


def test_measuring_the_rate_leaves_no_row_behind(model: TransformersModel, recipe: Recipe) -> None:
    assert self_written(model, recipe).rate(0.05) > 0
    assert model.cache.rows == 0
