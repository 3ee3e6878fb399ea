"""The model that is trained: a small Llama from scratch, or one that is there already."""

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedModel, PreTrainedTokenizerBase

from headstart.errors import TrainingError
from headstart.models.config_facts import context_length
from headstart.models.source import find, load_pretrained
from headstart.text.tokenizer import Tokenizer
from headstart.train.mtp.options import MtpOptions
from headstart.train.mtp.stream import step_seed
from headstart.train.trainable import check_trainable
from headstart.train.vocabulary import check_vocabulary

_CONTEXTS = 2
"""Context length of a new model, in training lengths."""


def new_model(options: MtpOptions, vocab_size: int, end: int) -> LlamaForCausalLM:
    """A Llama with random weights, which depend on the seed alone."""
    config = LlamaConfig(
        vocab_size=vocab_size,
        hidden_size=options.hidden_size,
        intermediate_size=options.intermediate_size,
        num_hidden_layers=options.layers,
        num_attention_heads=options.attention_heads,
        num_key_value_heads=options.kv_heads,
        max_position_embeddings=_CONTEXTS * options.length,
        tie_word_embeddings=True,
        initializer_range=options.hidden_size
        ** -0.5,  # with the usual 0.02, made for wide models, a narrow one hardly begins to learn
        bos_token_id=end,
        eos_token_id=end,
        pad_token_id=None,
    )
    torch.manual_seed(step_seed(options.seed, 0))
    return LlamaForCausalLM(config)


def given_model(name: str, length: int, device: torch.device) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """A model to continue on texts of so many positions, in float32, and its tokenizer.

    Raises:
        TrainingError: it has no tokenizer, none that can end a text, or another model's; its context is shorter; its weights are
            quantised.
        ModelNotFoundError, UnsupportedModelError: it cannot be loaded.
    """
    model, tokenizer, _ = load_pretrained(find(name), torch.float32, device)
    if tokenizer is None or tokenizer.eos_token_id is None:
        raise TrainingError(f"{name} came without a tokenizer that has an end-of-text token; put one beside the model")
    check_trainable(model, name)
    embeddings: Any = model.get_input_embeddings()
    check_vocabulary(Tokenizer(tokenizer).vocab_size, int(embeddings.weight.shape[0]))
    context = context_length(model.config.get_text_config(), None)
    if length > context:
        raise TrainingError(f"length is {length}, and {name} has a context of {context} positions; give a smaller --length")
    untyped: Any = model
    untyped.requires_grad_(True)
    return model, tokenizer
