"""Which models the native decoder covers, and what sets them apart: flags read from the loaded model.

Strict by intention: a layer that holds a parameter not known here, or a setting whose meaning is not known, leaves the model
to the transformers adapter.
"""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from transformers import PreTrainedModel

from headstart.models.config_facts import layer_reaches
from headstart.models.masks import Reach

_ACTIVATIONS = {"silu": "silu", "gelu_pytorch_tanh": "gelu_tanh"}
_ROTARY = {"default", "linear", "llama3", "yarn", "dynamic", "longrope"}
_DEVICES = {"cpu", "cuda"}
_LOOKS_ON = "transformers.utils.output_capturing"
"""Where hooks come from that change nothing: transformers leaves them on a model that was once asked for its hidden states."""
_LAYERS = {"full_attention", "sliding_attention"}


@dataclass(frozen=True, kw_only=True)
class Family:
    """How an architecture names and arranges the parts of a layer."""

    attention_norm: str | None = "input_layernorm"
    attention_out_norm: str | None = None
    """Applied to what attention adds to the residual stream."""
    mlp_norm: str | None = "post_attention_layernorm"
    mlp_out_norm: str | None = None
    norm_plus_one: bool = False
    """The norms multiply by 1 + weight, in float32."""
    fused: bool = False
    """Query, key and value, and gate and up, are one matrix each."""
    experts: bool = False
    """Many feed-forward parts and a router in each layer."""
    query_key_norm: bool = False
    windows: bool = False
    """Knows sliding layers; elsewhere a window in the config is a setting that the architecture ignores."""
    softcap: bool = False
    """Attention caps its scores where the config says so."""

    def required(self) -> set[str]:
        """Names of a layer's parameters, biases aside."""
        norms = (self.attention_norm, self.attention_out_norm, self.mlp_norm, self.mlp_out_norm)
        names = {f"{norm}.weight" for norm in norms if norm is not None} | {f"{name}.weight" for name in self.linears()}
        if self.experts:
            names |= {"mlp.gate.weight", "mlp.experts.gate_up_proj", "mlp.experts.down_proj"}
        return names | ({"self_attn.q_norm.weight", "self_attn.k_norm.weight"} if self.query_key_norm else set())

    def linears(self) -> tuple[str, ...]:
        if self.fused:
            return ("self_attn.qkv_proj", "self_attn.o_proj", "mlp.gate_up_proj", "mlp.down_proj")
        attention = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj")
        if self.experts:
            return attention
        return (*attention, "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")


_GEMMA: dict[str, Any] = {
    "attention_out_norm": "post_attention_layernorm",
    "mlp_norm": "pre_feedforward_layernorm",
    "mlp_out_norm": "post_feedforward_layernorm",
    "norm_plus_one": True,
    "windows": True,
}
FAMILIES: dict[str, Family] = {
    "LlamaForCausalLM": Family(),
    "MistralForCausalLM": Family(windows=True),
    "Qwen2ForCausalLM": Family(windows=True),
    "Qwen3ForCausalLM": Family(query_key_norm=True, windows=True),
    "MixtralForCausalLM": Family(windows=True, experts=True),
    "Qwen3MoeForCausalLM": Family(query_key_norm=True, windows=True, experts=True),
    "OlmoeForCausalLM": Family(query_key_norm=True, experts=True),
    "Gemma2ForCausalLM": Family(softcap=True, **_GEMMA),
    "Gemma3ForCausalLM": Family(query_key_norm=True, **_GEMMA),
    "Phi3ForCausalLM": Family(fused=True, windows=True),
    "Olmo2ForCausalLM": Family(
        attention_norm=None,
        attention_out_norm="post_attention_layernorm",
        mlp_norm=None,
        mlp_out_norm="post_feedforward_layernorm",
        query_key_norm=True,
    ),
}


@dataclass(frozen=True, kw_only=True)
class NativeSpec:
    """Everything about a covered model that is not a weight."""

    family: Family
    heads: int
    kv_heads: int
    head_size: int
    eps: float
    activation: str
    """"silu" or "gelu_tanh"."""
    scale: float
    """Of the scores of attention."""
    softcap: float | None
    """Of the scores of attention."""
    kinds_L: tuple[str, ...]
    """Kind of each layer: a key of ``reaches``."""
    reaches: Mapping[str, Reach] = field(hash=False)

    @property
    def groups(self) -> int:
        """Query heads per key/value head."""
        return self.heads // self.kv_heads


def spec_of(model: PreTrainedModel) -> NativeSpec | None:
    """The flags of a model that the native decoder covers; None for any other."""
    family = FAMILIES.get(type(model).__name__)
    if family is None or not type(model).__module__.startswith("transformers.models."):
        return None
    if getattr(model, "hf_device_map", None) or getattr(model, "hf_quantizer", None) is not None:
        return None
    parameters = list(model.parameters())
    if len({(p.dtype, p.device) for p in parameters}) != 1 or parameters[0].device.type not in _DEVICES:
        return None
    if not parameters[0].dtype.is_floating_point or not _layers_as_known(model, family):
        return None
    config = model.config
    activation = _ACTIVATIONS.get(str(getattr(config, "hidden_activation", None) or getattr(config, "hidden_act", None)))
    kinds = tuple(getattr(config, "layer_types", None) or ())
    window = getattr(config, "sliding_window", None)
    softcap = getattr(config, "attn_logit_softcapping", None)
    if (
        activation is None
        or not set(kinds) <= _LAYERS
        or (not family.windows and (window is not None or "sliding_attention" in kinds))
        or (not family.softcap and softcap is not None)
        or not _rotary_kinds(config) <= _ROTARY
        or getattr(config, "use_bidirectional_attention", None)
        or getattr(config, "clip_qkv", None) is not None
    ):
        return None
    reaches = layer_reaches(config)
    return NativeSpec(
        family=family,
        heads=config.num_attention_heads,
        kv_heads=config.num_key_value_heads,
        head_size=getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads,
        eps=config.rms_norm_eps,
        activation=activation,
        scale=float(model.model.layers[0].self_attn.scaling),
        softcap=None if softcap is None else float(softcap),
        kinds_L=kinds or (next(iter(reaches)),) * config.num_hidden_layers,
        reaches=reaches,
    )


def by_kind(rotary: torch.nn.Module) -> bool:
    """Whether a model's rotary module keeps frequencies for each kind of layer."""
    return "layer_type" in inspect.signature(rotary.forward).parameters


def _layers_as_known(model: PreTrainedModel, family: Family) -> bool:
    if {name for name, _ in model.named_children()} != {"model", "lm_head"}:
        return False
    if {name for name, _ in model.model.named_children()} - {"rotary_emb"} != {"embed_tokens", "layers", "norm"}:
        return False
    required = family.required()
    allowed = required | {f"{name}.bias" for name in family.linears()}
    linears = [module for module in model.modules() if isinstance(module, torch.nn.Linear)]
    return (
        all(required <= {name for name, _ in layer.named_parameters()} <= allowed for layer in model.model.layers)
        and all(type(module) is torch.nn.Linear for module in linears)
        and all(getattr(hook, "__module__", "") == _LOOKS_ON for module in model.modules() for hook in _hooks(module))
    )


def _hooks(module: torch.nn.Module) -> list[Any]:
    return [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]


def _rotary_kinds(config: Any) -> set[str]:
    parameters = getattr(config, "rope_parameters", None) or {}
    each = [value for value in parameters.values() if isinstance(value, dict)] or [parameters]
    return {str(one.get("rope_type", "default")) for one in each}
