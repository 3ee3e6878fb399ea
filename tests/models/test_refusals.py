"""A model that could not be kept exact is refused, with a sentence that says why."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import CONFIG_MAPPING, AutoModel, AutoModelForCausalLM, AutoModelForSeq2SeqLM, PreTrainedModel

from headstart.errors import UnsupportedModelError
from headstart.models.loading import load_model
from tests.tiny_models import adapter, build, native

_TINY: dict[str, Any] = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def causal(model_type: str, **changes: Any) -> PreTrainedModel:
    torch.manual_seed(0)
    settings = {name: value for name, value in {**_TINY, **changes}.items() if value is not None}
    return AutoModelForCausalLM.from_config(CONFIG_MAPPING[model_type](**settings)).eval()


def t5() -> PreTrainedModel:
    config = CONFIG_MAPPING["t5"](vocab_size=64, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2, decoder_start_token_id=0)
    return AutoModelForSeq2SeqLM.from_config(config)


def qwen3_next() -> PreTrainedModel:
    return causal(
        "qwen3_next", layer_types=["linear_attention", "full_attention"], linear_num_value_heads=4, linear_num_key_heads=2,
        linear_key_head_dim=8, linear_value_head_dim=8, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
    )  # fmt: skip


_NO_ROLLBACK = "cannot be rolled back after a rejected guess.*Use a model whose layers are all attention"
REFUSED: dict[str, tuple[Callable[[], PreTrainedModel], str]] = {
    "mamba": (lambda: causal("mamba", state_size=4), _NO_ROLLBACK),
    "mamba2": (lambda: causal("mamba2", state_size=4, num_heads=8, head_dim=8, n_groups=1), _NO_ROLLBACK),
    "qwen3_next": (qwen3_next, "layers of kind linear_attention.*" + _NO_ROLLBACK),
    "recurrent_gemma": (lambda: causal("recurrent_gemma", lru_width=32, attention_window_size=8), _NO_ROLLBACK),
    "lfm2": (
        lambda: causal("lfm2", layer_types=["conv", "full_attention"], block_multiple_of=8),
        "layers of kind conv.*" + _NO_ROLLBACK,
    ),
    "bloom": (lambda: causal("bloom", n_head=4, n_layer=2), "BloomForCausalLM takes no positions.*Use a model"),
    "mpt": (lambda: causal("mpt", d_model=32, n_heads=4, n_layers=2), "MptForCausalLM takes no positions.*Use a model"),
    "falcon with ALiBi": (lambda: causal("falcon", alibi=True, head_dim=None), "FalconForCausalLM"),
    "t5": (t5, "encoder-decoder"),
    "a model without LM head": (
        lambda: AutoModel.from_config(CONFIG_MAPPING["llama"](**_TINY)),
        "LlamaModel does not generate text.*AutoModelForCausalLM",
    ),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("kind", REFUSED)
def test_refused(kind: str, dtype: torch.dtype) -> None:
    make, sentence = REFUSED[kind]
    with pytest.raises(UnsupportedModelError, match=sentence):
        load_model(make().to(dtype))


@pytest.mark.parametrize("load", [adapter, native])
def test_rotary_scaling_by_the_longest_text_is_held_to_the_original_length(load: Callable[..., Any]) -> None:
    # beyond 32 positions the frequencies would change with the longest text of a batch, its neighbours' included
    scaling = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0, "original_max_position_embeddings": 32}
    model = build("llama", rope_parameters=scaling)
    assert load(model).facts.context_length == 32
    assert load(model, max_context=20).facts.context_length == 20
    with pytest.raises(UnsupportedModelError, match=r"max_context=64: beyond 32 positions.*dynamic.*Use max_context=32 or less"):
        load(model, max_context=64)


def test_rotary_scaling_by_factors_short_and_long() -> None:
    # Phi-3 picks its long factors as soon as one text of a pass is longer than the original length
    scaling = {"rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [2.0] * 4, "rope_theta": 10000.0}
    model = build("phi3", rope_parameters=scaling, original_max_position_embeddings=48)
    assert adapter(model).facts.context_length == 48
