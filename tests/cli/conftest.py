"""A tiny random model on disk, tokenizer and chat template included, and heads for it: for commands to load by path."""

from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.trees.shape import TreeShape

END = "<|end|>"
CHAT_TEMPLATE = (
    "{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}" + END + "{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of a two-layer Llama that writes bytes: every byte is a token, so that any text can be a prompt."""
    directory = tmp_path_factory.mktemp("model")
    save_tiny_model(directory)
    return str(directory)


@pytest.fixture(scope="session")
def heads_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The path of two untrained heads with a tree of four nodes: they guess what the LM head would say now, mostly in vain."""
    path = tmp_path_factory.mktemp("heads") / "heads"
    config = HeadsConfig(hidden_size=32, vocab_size=260, num_heads=2, condition_on_root=False, base_model="tiny")
    counts = {(0,): 50, (0, 0): 20, (1,): 10}
    directory = HeadsDirectory(
        MedusaHeads(config), TreeShape([[0], [0, 0], [1]]), nodes=3, counts=counts, total=100, predicted={"head 1 top-1": 0.5}
    )
    directory.save_pretrained(path)
    return str(path)


def save_tiny_model(directory: Path) -> None:
    specials = [END, "<|system|>", "<|user|>", "<|assistant|>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate([*specials, *letters])}
    fast = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    fast.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    fast.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=fast, eos_token=END, additional_special_tokens=specials[1:])
    tokenizer.chat_template = CHAT_TEMPLATE
    tokenizer.save_pretrained(directory)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        initializer_range=0.5,  # wide apart logits: no near-ties
        eos_token_id=vocabulary[END],
        bos_token_id=None,
        pad_token_id=None,
    )
    LlamaForCausalLM(config).save_pretrained(directory)
