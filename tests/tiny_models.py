"""Tiny models: random ones of every family, and one whose text can be read off the alphabet.

The random ones are in float64 with wide apart logits, so that two ways to compute the same token never differ by a near-tie
and no text runs in a loop.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import torch
from tokenizers import Regex, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Backend
from transformers import (
    CONFIG_MAPPING,
    AutoModelForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.mtp_heads import MtpConfig, MtpHeads
from headstart.models.native import NativeModel
from headstart.models.protocol import BaseModel
from headstart.models.transformers_adapter import TransformersModel
from headstart.text.tokenizer import Tokenizer
from headstart.trees.shape import TreeShape

VOCAB, CONTEXT, EOS = 64, 128, 2
WINDOW = 7  # of sliding layers: shorter than any text of these tests

_COMMON: dict[str, Any] = {
    "vocab_size": VOCAB,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "max_position_embeddings": CONTEXT,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": EOS,
    "tie_word_embeddings": False,  # tied random embeddings make a model repeat its last token
}
_ALTERNATING = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
FAMILIES: dict[str, dict[str, Any]] = {
    "arcee": {},
    "cohere": {"logit_scale": 0.5},
    "cohere2": {"logit_scale": 0.5, **_ALTERNATING},
    "deepseek_v3": {
        "kv_lora_rank": 8, "q_lora_rank": 12, "qk_rope_head_dim": 4, "qk_nope_head_dim": 8, "v_head_dim": 6, "n_routed_experts": 4,
        "n_group": 2, "topk_group": 1, "num_experts_per_tok": 2, "moe_intermediate_size": 16, "first_k_dense_replace": 1,
        "num_key_value_heads": 4, "head_dim": 4,
    },
    "falcon": {"new_decoder_architecture": True, "num_kv_heads": 2, "head_dim": None},
    "gemma2": {"query_pre_attn_scalar": 8, "attn_logit_softcapping": 5.0, "final_logit_softcapping": 9.0, **_ALTERNATING},
    "gemma3_text": {"query_pre_attn_scalar": 8, **_ALTERNATING},
    "glm4": {},
    "gpt2": {"n_positions": CONTEXT, "n_inner": 48},
    "gpt_bigcode": {"n_positions": CONTEXT, "n_inner": 48},
    "gpt_neox": {"rotary_pct": 0.5},
    "gpt_oss": {"num_local_experts": 4, "num_experts_per_tok": 2, "rope_parameters": {"rope_type": "default"}, **_ALTERNATING},
    "gptj": {"n_positions": CONTEXT, "rotary_dim": 4, "n_inner": 48},
    "granite": {"logits_scaling": 3.0, "embedding_multiplier": 2.0, "residual_multiplier": 0.7, "attention_multiplier": 0.3},
    "llama": {},
    "mistral": {"sliding_window": WINDOW},
    "mixtral": {"num_local_experts": 4, "sliding_window": None},
    "olmo2": {},
    "olmo3": _ALTERNATING,
    "olmoe": {"num_experts": 4, "num_experts_per_tok": 2},
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    "phi": {},
    "phi3": {"sliding_window": None},
    "qwen2": {"use_sliding_window": False},
    "qwen3": {},
    "qwen3_moe": {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16},
    "smollm3": {"no_rope_layers": [1, 0]},
    "stablelm": {},
    "starcoder2": {"sliding_window": WINDOW},
}  # fmt: skip
"""Settings of each family beyond those that all share."""


def build(family: str, *, dtype: torch.dtype = torch.float64, **changes: Any) -> PreTrainedModel:
    """A fresh random model, which the caller may change."""
    settings = {**_COMMON, **FAMILIES.get(family, {}), **changes}
    config = CONFIG_MAPPING[family](**{name: value for name, value in settings.items() if (name, value) != ("head_dim", None)})
    config._experts_implementation = "eager"  # the grouped product of torch knows no float64
    torch.manual_seed(0)
    # older transformers drop the soft-cap in any other attention
    attention = {"attn_implementation": "eager"} if settings.get("attn_logit_softcapping") else {}
    model = AutoModelForCausalLM.from_config(config, **attention).to(torch.float64)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn_like(parameter) * 0.4)
    return model.to(dtype).eval()


@cache
def tiny(family: str) -> PreTrainedModel:
    """The random model of a family, shared by all tests: not to be changed."""
    return build(family)


def adapter(model: PreTrainedModel, **options: Any) -> TransformersModel:
    return TransformersModel(model, **{"max_rows": 8, "cache_tokens": 4096, **options})


def native(model: PreTrainedModel, **options: Any) -> NativeModel:
    return NativeModel(model, **{"name": "tiny", "max_rows": 8, "cache_tokens": 4096, **options})


def generated(model: PreTrainedModel, prompt: Sequence[int], tokens: int, **options: Any) -> list[int]:
    """What transformers' own ``generate`` writes, greedily and past any end-of-text id unless ``options`` say otherwise."""
    settings = {"eos_token_id": None, "pad_token_id": 0, "do_sample": False, "max_new_tokens": tokens, **options}
    ids_BT = torch.tensor([list(prompt)])
    out_BT = model.generate(ids_BT, attention_mask=torch.ones_like(ids_BT), **settings)
    return out_BT[0, len(prompt) :].tolist()


def noise_heads(model: BaseModel, **options: Any) -> MedusaHeads:
    """Three heads of random numbers, which know nothing of the model."""
    torch.manual_seed(1)
    facts = model.facts
    config = HeadsConfig(**{"hidden_size": facts.hidden_size, "vocab_size": facts.vocab_size, "num_heads": 3, **options})
    draft_ids_V = None if config.draft_vocab_size is None else torch.arange(config.draft_vocab_size) * 2
    heads = MedusaHeads(config, draft_ids_V)
    with torch.no_grad():
        for parameter in heads.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3)
    return heads


def noise_mtp_heads(model: BaseModel, num_heads: int = 3) -> MtpHeads:
    """MTP heads of random numbers, for models of the tiny Llama's sizes."""
    torch.manual_seed(2)
    facts = model.facts
    config = MtpConfig(
        hidden_size=facts.hidden_size,
        vocab_size=facts.vocab_size,
        num_heads=num_heads,
        attention_heads=4,
        kv_heads=2,
        head_size=8,
        intermediate_size=48,
    )
    heads = MtpHeads(config).to(facts.dtype).requires_grad_(False)
    for parameter in heads.parameters():
        parameter.copy_(torch.randn_like(parameter) * 0.3)
    return heads


LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .,!?:;-\n"
FIRST_LETTER = 3  # after <pad>, <s> and </s>


def alphabet_model(*, sharpness: float = 1.0, context: int = CONTEXT) -> LlamaForCausalLM:
    """A Llama that goes on with the next letter: after "c" comes "d", after the last letter </s>, after a special token "a".

    Embeddings are unit vectors, the layers add nothing and the LM head maps each vector to its successor. The successor's
    logit is 8 times ``sharpness``, all others are 0.
    """
    config = LlamaConfig(
        vocab_size=VOCAB,
        hidden_size=VOCAB,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        bos_token_id=1,
        eos_token_id=EOS,
        pad_token_id=0,
    )
    torch.manual_seed(0)
    model = LlamaForCausalLM(config).to(torch.float64).eval()
    with torch.no_grad():
        model.model.embed_tokens.weight.copy_(torch.eye(VOCAB))
        model.lm_head.weight.copy_(_successor_matrix(1) * sharpness)
        for layer in model.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
    return model


def alphabet_heads(model: BaseModel, num_heads: int = 3, tree: TreeShape | None = None) -> HeadsDirectory:
    """Heads for the alphabet model that are always right at temperature 0; the tree is a chain unless given."""
    config = HeadsConfig(
        hidden_size=VOCAB, vocab_size=VOCAB, num_heads=num_heads, num_layers=0, projection="own", condition_on_root=False
    )
    heads = MedusaHeads(config)
    with torch.no_grad():  # head k reads the state before the root, so that its token is k + 2 letters further
        heads.own_projection.copy_(torch.stack([_successor_matrix(k + 2) for k in range(num_heads)]))
    return HeadsDirectory(heads, tree or TreeShape.chain(num_heads))


def letters_tokenizer(chat_template: str | None = "<s>{% for m in messages %}{{ m.content }}{% endfor %}") -> Tokenizer:
    """A token a letter, for the alphabet model."""
    vocabulary = {token: i for i, token in enumerate(["<pad>", "<s>", "</s>", *LETTERS])}
    backend = Backend(models.WordLevel(vocabulary, unk_token="<pad>"))
    backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    backend.decoder = decoders.Fuse()
    fast = PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", eos_token="</s>", pad_token="<pad>")
    fast.chat_template = chat_template
    return Tokenizer(fast)


def letter_ids(text: str) -> list[int]:
    return [FIRST_LETTER + LETTERS.index(letter) for letter in text]


def _successor(token: int) -> int:
    if token < FIRST_LETTER:
        return FIRST_LETTER
    return token + 1 if token + 1 < VOCAB else EOS


def _successor_matrix(steps: int) -> torch.Tensor:
    """V x D; row x is the sum of the unit vectors of the tokens from which ``steps`` steps lead to x."""
    matrix = torch.zeros(VOCAB, VOCAB, dtype=torch.float64)
    follow: Callable[[int], int] = _successor
    for token in range(VOCAB):
        reached = token
        for _ in range(steps):
            reached = follow(reached)
        matrix[reached, token] = 1.0
    return matrix
