"""A tiny chat model and byte-level tokenizers, made here."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Backend
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from headstart.models.transformers_adapter import TransformersModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.run import train
from tests.train.chat_server import Reply, Serve, Server
from tests.train.small_run import OPTIONS, fresh

TEMPLATES = {
    "chatml": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
        ("<|im_start|>", "<|im_end|>"),
        "<|im_end|>",
    ),
    "llama-2": (
        "{% for m in messages %}{% if m.role == 'user' %}<s>[INST] {{ m.content | trim }} [/INST]"
        "{% else %} {{ m.content | trim }} </s>{% endif %}{% endfor %}",
        ("<s>", "</s>"),
        "</s>",
    ),
    "llama-3": (
        "<|begin_of_text|>{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
        "{{ m.content | trim }}<|eot_id|>{% endfor %}"
        "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
        ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        "<|eot_id|>",
    ),
    "gemma": (
        "<bos>{% for m in messages %}<start_of_turn>{{ 'model' if m.role == 'assistant' else m.role }}\n"
        "{{ m.content | trim }}<end_of_turn>\n{% endfor %}{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
        ("<bos>", "<start_of_turn>", "<end_of_turn>"),
        "<end_of_turn>",
    ),
    # like templates of reasoning models: only the last answer is shown with its thoughts
    "forgetful": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        "{{ m.content if loop.last else m.content.split('</think>')[-1] }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
        ("<|im_start|>", "<|im_end|>"),
        "<|im_end|>",
    ),
}


def byte_tokenizer(template: str) -> Tokenizer:
    """One token a byte, and the template's special tokens from id 256 on."""
    text, specials, end = TEMPLATES[template]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Backend(models.BPE({piece: i for i, piece in enumerate(alphabet)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in specials])
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token=end)
    fast.chat_template = text
    return Tokenizer(fast)


@pytest.fixture(scope="session")
def tokenizer_of() -> Callable[[str], Tokenizer]:
    return byte_tokenizer


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return byte_tokenizer("chatml")


@pytest.fixture(scope="session")
def llama() -> LlamaForCausalLM:
    """Random weights, large enough that its texts do not all loop at once."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=260,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=1024,
        initializer_range=0.3,
        bos_token_id=256,
        eos_token_id=257,
    )
    return LlamaForCausalLM(config).eval()


@pytest.fixture
def model(llama: LlamaForCausalLM) -> TransformersModel:
    return TransformersModel(llama, name="tiny", max_rows=8, cache_tokens=8 * 1024)


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers: list[Server] = []

    def start(reply: Callable[[int, dict[str, Any]], Reply]) -> Server:
        server = Server(reply)
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="session")
def finished(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An undisturbed run; nobody writes into it."""
    output = tmp_path_factory.mktemp("finished") / "heads"
    train(fresh(llama), tokenizer, output, options=OPTIONS)
    return output
