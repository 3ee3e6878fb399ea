from collections.abc import Callable

import pytest

from headstart.errors import DataError
from headstart.text.tokenizer import Tokenizer
from headstart.train.answer_spans import chat_texts, plain_text

TokenizerOf = Callable[[str], Tokenizer]
TALK = [
    {"role": "user", "content": "Hi there"},
    {"role": "assistant", "content": "Hello."},
    {"role": "user", "content": "Bye"},
    {"role": "assistant", "content": "See you, <b>friend</b>"},
]
EXPECTED = {
    # only the answers and the id that ends each; never a user's turn, a role name or the line break after the turn
    "chatml": ["Hello.<|im_end|>", "See you, <b>friend</b><|im_end|>"],
    "llama-2": [" Hello. </s>", " See you, <b>friend</b> </s>"],
    "llama-3": ["Hello.<|eot_id|>", "See you, <b>friend</b><|eot_id|>"],
    "gemma": ["Hello.<end_of_turn>", "See you, <b>friend</b><end_of_turn>"],
}


def stop_ids(tokenizer: Tokenizer) -> frozenset[int]:
    return tokenizer.eos_ids | tokenizer.end_of_turn_ids


@pytest.mark.parametrize("template", EXPECTED)
def test_only_answers_and_their_ends_are_marked(tokenizer_of: TokenizerOf, template: str) -> None:
    tokenizer = tokenizer_of(template)
    (text,) = chat_texts(tokenizer, TALK, stop_ids(tokenizer), "f:1")
    marked = [tokenizer.decode(text.ids[start:end], skip_special_tokens=False) for start, end in text.spans]
    assert marked == EXPECTED[template]


def test_a_last_user_turn_is_left_out(tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of("chatml")
    (text,) = chat_texts(tokenizer, TALK[:3], stop_ids(tokenizer), "f:1")
    assert tokenizer.decode(text.ids, skip_special_tokens=False).endswith("Hello.<|im_end|>\n")
    assert len(text.spans) == 1


def test_a_template_that_shortens_earlier_answers_gives_a_text_for_each(tokenizer_of: TokenizerOf) -> None:
    """The first answer is shown whole only while it is the last, so the two answers need two passes."""
    tokenizer = tokenizer_of("forgetful")
    talk = [
        TALK[0],
        {"role": "assistant", "content": "hmm</think>Hello."},
        TALK[2],
        {"role": "assistant", "content": "so</think>Bye"},
    ]
    texts = chat_texts(tokenizer, talk, stop_ids(tokenizer), "f:1")
    marked = [[tokenizer.decode(t.ids[start:end], skip_special_tokens=False) for start, end in t.spans] for t in texts]
    assert marked in (
        [["hmm</think>Hello.<|im_end|>"], ["so</think>Bye<|im_end|>"]],
        [["Hello.<|im_end|>", "so</think>Bye<|im_end|>"]],
    )


def test_an_answer_that_cannot_be_found_is_an_error(tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of("chatml")
    # counts the messages in front of the first, so that no prompt is a prefix of what follows it
    tokenizer.hf.chat_template = "{{ messages | length }}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}"
    with pytest.raises(DataError, match="f:1: the chat template writes message 1"):
        chat_texts(tokenizer, TALK[:2], stop_ids(tokenizer), "f:1")


def test_plain_text_is_all_answer_but_its_first_token(tokenizer_of: TokenizerOf) -> None:
    tokenizer = tokenizer_of("chatml")
    assert plain_text(tokenizer, "abcd").spans == [(1, 4)]
    assert plain_text(tokenizer, "a").spans == []
