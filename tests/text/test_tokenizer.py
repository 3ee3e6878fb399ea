"""Ids and text, chat templates of several families, and what can be learnt from a template."""

from collections.abc import Sequence

import pytest
from tokenizers import AddedToken, processors

from headstart.errors import ChatTemplateError, PromptError
from headstart.text.tokenizer import Tokenizer

CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] + '<|im_end|>' + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
LLAMA_2 = (
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}{{ '[INST] ' + m['content'].strip() + ' [/INST]' }}"
    "{% elif m['role'] == 'assistant' %}{{ ' ' + m['content'] + ' ' + eos_token }}"
    "{% else %}{{ raise_exception('only user and assistant') }}{% endif %}{% endfor %}"
)
LLAMA_3 = (
    "{{ bos_token }}{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + '<|end_header_id|>\n\n' }}"
    "{{ m['content'] + '<|eot_id|>' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|start_header_id|>assistant<|end_header_id|>\n\n' }}{% endif %}"
)
GEMMA = (
    "{{ bos_token }}{% for m in messages %}{{ '<start_of_turn>' + ('model' if m['role'] == 'assistant' else m['role']) + '\n'"
    " + m['content'] + '<end_of_turn>\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}"
)
PLAIN = (
    "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}"
)

# name: template, its tokens, prefix of the user's text, rendered question, the id after an answer
FAMILIES = {
    "chatml": (CHATML, ["<|im_start|>", "<|im_end|>"], "<|im_start|>user\n", "hi<|im_end|>\n<|im_start|>assistant\n", "<|im_end|>"),
    "llama-2": (LLAMA_2, [], "<s>[INST]", " hi [/INST]", "</s>"),
    "llama-3": (
        LLAMA_3,
        ["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
        "<s><|start_header_id|>user<|end_header_id|>\n\n",
        "hi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
        "<|eot_id|>",
    ),
    "gemma": (
        GEMMA,
        ["<start_of_turn>", "<end_of_turn>"],
        "<s><start_of_turn>user\n",
        "hi<end_of_turn>\n<start_of_turn>model\n",
        "<end_of_turn>",
    ),
    "plain": (PLAIN, [], "user:", " hi\nassistant:", None),
}


def with_template(make: pytest.FixtureRequest, template: str | None, tokens: Sequence[str] = ()) -> Tokenizer:
    """A byte-level tokenizer that puts a BOS before every text, as most do, with a chat template."""
    hf = make.getfixturevalue("fresh_byte_level")
    hf.add_tokens([AddedToken(token, special=True) for token in tokens], special_tokens=True)
    hf.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", hf.convert_tokens_to_ids("<s>"))]
    )
    hf.chat_template = template
    return Tokenizer(hf)


@pytest.mark.parametrize("family", FAMILIES)
def test_families_of_templates(family: str, request: pytest.FixtureRequest) -> None:
    template, tokens, prefix, rest, end = FAMILIES[family]
    tokenizer = with_template(request, template, tokens)
    ids = tokenizer.chat_ids("hi")
    assert tokenizer.decode(ids, skip_special_tokens=False) == prefix + rest
    assert ids.count(tokenizer.hf.bos_token_id) == prefix.count("<s>")  # encode() would have added a second one
    assert tokenizer.decode(tokenizer.user_turn_prefix_ids(), skip_special_tokens=False) == prefix
    space = " " if prefix.endswith((":", "]")) else ""
    assert tokenizer.user_turn_prefix_ids("Why") == tokenizer.encode(prefix + space + "Why", add_special_tokens=False)
    assert tokenizer.end_of_turn_ids == (frozenset() if end is None else {tokenizer.hf.convert_tokens_to_ids(end)})


def test_special_tokens_are_added_to_texts_only_when_wanted(request: pytest.FixtureRequest) -> None:
    tokenizer = with_template(request, CHATML)
    bos = tokenizer.hf.bos_token_id
    assert tokenizer.encode("hi") == [bos, *tokenizer.encode("hi", add_special_tokens=False)]
    assert (tokenizer.decode(tokenizer.encode("hi")), tokenizer.decode(tokenizer.encode("hi"), False)) == ("hi", "<s>hi")


def test_no_template(request: pytest.FixtureRequest) -> None:
    tokenizer = with_template(request, None)
    with pytest.raises(ChatTemplateError, match=r"no chat template.*generate\(\)"):
        tokenizer.chat_ids("hi")
    assert (tokenizer.has_chat_template, tokenizer.end_of_turn_ids) == (False, frozenset())


def test_a_template_that_refuses(request: pytest.FixtureRequest) -> None:
    tokenizer = with_template(request, LLAMA_2)
    with pytest.raises(ChatTemplateError, match=r"roles: system, user\): only user and assistant"):
        tokenizer.chat_ids([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}])


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([], "empty"),
        ("", "empty"),
        (["hi"], "message 0 is 'hi'"),
        ([{"role": "user", "content": "hi"}, {"role": "bot", "content": "x"}], "message 1 has the role 'bot'"),
        ([{"role": "user", "content": ["hi"]}], "content of type list"),
        ([{"role": "user"}], "content of type NoneType"),
    ],
)
def test_malformed_messages(messages: object, complaint: str, request: pytest.FixtureRequest) -> None:
    with pytest.raises(PromptError, match=complaint):
        with_template(request, CHATML).chat_ids(messages)  # type: ignore[arg-type]


def test_silent_and_byte_ids(byte_level_tokenizer: Tokenizer, sentencepiece_tokenizer: Tokenizer) -> None:
    """<s> and </s> are 0 and 1 in one, <unk>, <s>, </s> 0 to 2 in the other, whose byte tokens follow; <tool> is not special."""
    assert byte_level_tokenizer.silent_ids == {0, 1}
    assert byte_level_tokenizer.byte_ids == {}
    assert sentencepiece_tokenizer.silent_ids == {0, 1, 2}
    assert sentencepiece_tokenizer.byte_ids == {3 + byte: byte for byte in range(256)}


@pytest.mark.bundled
def test_the_bundled_tokenizer(bundled_tokenizer: Tokenizer) -> None:
    """1 is <|im_start|>, 2 is <|im_end|>; its template writes a system message of its own first."""
    ids = bundled_tokenizer.chat_ids("How do I reset my password?")
    assert bundled_tokenizer.decode(ids, skip_special_tokens=False) == (
        "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
        "<|im_start|>user\nHow do I reset my password?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert (bundled_tokenizer.end_of_turn_ids, bundled_tokenizer.eos_ids, bundled_tokenizer.vocab_size) == ({2}, {2}, 49152)
