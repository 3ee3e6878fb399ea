from collections.abc import Callable

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


def test_what_an_assistant_says_first_of_all_is_a_prompt(model: TransformersModel, tokenizer: Tokenizer) -> None:
    """As in conversations that begin with the model's greeting."""
    talk = [
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Bye"},
    ]
    source = Kept(model, tokenizer, [Given("f:1", messages=talk), Given("f:2", messages=talk[:1])], STOP)
    assert source.expected_tokens() == 4 + 0
    (answer,), nothing = source.conversations(0, 2, lambda tokens: None)
    assert tokenizer.decode(answer.ids, skip_special_tokens=False) == "Bye<|im_end|>"
    assert "Hello!" in tokenizer.decode(answer.prompt_ids)
    assert not nothing


def test_a_template_that_refuses_the_beginning_of_a_conversation_loses_its_row(
    model: TransformersModel, tokenizer_of: Callable[[str], Tokenizer]
) -> None:
    """It wants as many messages as there are in the whole."""
    strict = tokenizer_of("chatml")
    refusal = "{% if messages | length < 3 %}{{ raise_exception('too few') }}{% endif %}"
    strict.hf.chat_template = refusal + "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}"
    talk = [{"role": role, "content": role} for role in ("user", "user", "assistant")]
    source = Kept(model, strict, [Given("f:1", messages=talk), Given("f:2", text="abc")], STOP, max_bad_rows=1)
    assert [len(answers) for answers in source.conversations(0, 2, lambda tokens: None)] == [0, 1]
    assert "f:1: " in source.lost[0].detail
    assert "too few" in source.lost[0].detail


def test_an_answer_that_cannot_be_found_loses_its_row_up_to_a_limit(
    model: TransformersModel, tokenizer_of: Callable[[str], Tokenizer]
) -> None:
    """The template counts messages in front of the first, so that no prompt is the beginning of what follows it."""
    counting = tokenizer_of("chatml")
    counting.hf.chat_template = "{{ messages | length }}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}"
    talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    given = [Given("f:1", messages=talk), Given("f:2", text="abc"), Given("f:3", messages=talk)]
    source = Kept(model, counting, given, STOP, max_bad_rows=2)
    assert [len(answers) for answers in source.conversations(0, 3, lambda tokens: None)] == [0, 1, 0]
    assert {number: row.kind for number, row in source.lost.items()} == {0: "failed", 2: "failed"}
    with pytest.raises(DataError, match="f:1: the chat template writes message 1"):
        Kept(model, counting, given, STOP).conversations(0, 3, lambda tokens: None)


def test_the_end_of_an_answer_that_was_cut_is_not_learned(model: TransformersModel, tokenizer: Tokenizer) -> None:
    """The template ends every answer; one that stopped at a limit did not choose to."""
    talk = [{"role": role, "content": role[:2]} for role in ("user", "assistant", "user", "assistant")]
    first, second = Kept(model, tokenizer, [], STOP).answers(Given("f:1", messages=talk), cut={1})
    assert tokenizer.decode(first.ids, skip_special_tokens=False) == "as<|im_end|>"
    assert tokenizer.decode(second.ids, skip_special_tokens=False) == "as"
    assert len(second.hidden_TD) == 1
