import pytest
import torch
from transformers import LlamaForCausalLM

from headstart.errors import DataError
from headstart.models.transformers_adapter import TransformersModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.conversations import Given
from headstart.train.kept import Kept

STOP = frozenset({257})


@torch.no_grad()
def test_states_and_ids_are_those_of_the_given_answers(
    llama: LlamaForCausalLM, model: TransformersModel, tokenizer: Tokenizer
) -> None:
    """Two turns in one pass; a text of 700 bytes, which is longer than a chunk of prefill."""
    talk = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello." * 100},
        {"role": "user", "content": "Bye"},
        {"role": "assistant", "content": "See you"},
    ]
    source = Kept(model, tokenizer, [Given("f:1", messages=talk), Given("f:2", text="abcdef")], STOP)
    heard: list[int] = []
    (first, second), (text,) = source.conversations(0, 2, heard.append)
    assert tokenizer.decode(first.ids, skip_special_tokens=False) == "Hello." * 100 + "<|im_end|>"
    assert tokenizer.decode(second.ids, skip_special_tokens=False) == "See you<|im_end|>"
    assert tokenizer.decode([*text.prompt_ids, *text.ids]) == "abcdef"
    assert heard == [601 + 8, 5]
    for answer in (first, second, text):
        assert not answer.greedy  # nobody knows how a given answer was chosen
        ids = torch.tensor([[*answer.prompt_ids, *answer.ids]])
        start = len(answer.prompt_ids) - 1
        expected = llama.model(ids).last_hidden_state[0, start : start + len(answer.ids) - 1]
        torch.testing.assert_close(answer.hidden_TD, expected, atol=1e-4, rtol=1e-4)
    assert model.cache.rows == 0


def test_a_text_beyond_the_context_is_cut(model: TransformersModel, tokenizer: Tokenizer) -> None:
    (answer,) = Kept(model, tokenizer, [Given("f:1", text="x" * 3000)], STOP).conversations(0, 1, lambda tokens: None)[0]
    assert len(answer.prompt_ids) + len(answer.ids) == model.facts.context_length


def test_a_conversation_without_an_answer_is_named(model: TransformersModel, tokenizer: Tokenizer) -> None:
    with pytest.raises(DataError, match="f:1: no assistant message"):
        Kept(model, tokenizer, [Given("f:1", messages=[{"role": "user", "content": "Hi"}])], STOP)
