"""Output heads that are transformer layers on one trunk: a model's own last layer, and further ones beside it.

Source: Gloeckle et al. 2024, section 2.

Shapes: B texts, T positions, D hidden.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PreTrainedModel

from headstart.drafters.mtp_heads import MtpConfig, MtpHeads, MtpLayer
from headstart.errors import TrainingError, UnsupportedModelError
from headstart.models.config_facts import logit_scale
from headstart.models.projection import finish
from headstart.train.mtp.objective import Trunk

_TRIED = 8  # positions at which a copy is compared with its original
_ALIKE = 1e-2  # of the length; what is computed otherwise is tenths away


class LayerHeads:
    """Heads that are transformer layers; the first one is the model's last layer.

    Raises:
        UnsupportedModelError: the model is not of the Llama kind, whose last layer can be set apart.
    """

    def __init__(self, model: PreTrainedModel, count: int) -> None:
        base: Any = model.base_model
        if not all(hasattr(base, name) for name in ("layers", "norm", "embed_tokens")) or len(base.layers) < 2:
            raise UnsupportedModelError(
                f"{type(model).__name__} is not a model whose last layer and final norm can be set apart; use one of the Llama"
                " family with at least two layers, or --head residual"
            )
        self.model, self._base = model, base
        unembedding: Any = model.get_output_embeddings()
        self.vocab_size = int(unembedding.weight.shape[0])
        self._scale, self._softcap = logit_scale(model.config)
        self._config = _config_of(model, count)
        self.layers = nn.ModuleList(_layer_like(base.layers[-1], self._config) for _ in range(count))
        if count:
            self._check_alike()

    def trunk(self, ids_BT: torch.Tensor) -> Trunk:
        cut: list[torch.Tensor] = []
        with _cutting(self._base.layers[-1], cut):
            states_BTD = _states_before(self._base.norm, self._base, ids_BT)
        output_BTD, leaf_BTD = cut
        return Trunk(output_BTD, leaf_BTD, states_BTD)

    @torch.no_grad()
    def _check_alike(self) -> None:
        """Raises UnsupportedModelError where a copy of the last layer, or the norm that heads are saved with, computes something
        else than the model's own: norms that add one, other activations, multipliers."""
        training = self.model.training
        untyped: Any = self.model
        untyped.eval()
        ids_BT = torch.arange(_TRIED, device=self._base.embed_tokens.weight.device)[None] % self.vocab_size
        trunk = self.trunk(ids_BT)
        untyped.train(training)
        states_BTD = trunk.first_BTD
        weight_D = self._base.norm.weight
        pairs = {
            "last layer": (self.layers[0](trunk.leaf_BTD), states_BTD),
            "final norm": (F.rms_norm(states_BTD, weight_D.shape, weight_D, self._config.norm_eps), self._base.norm(states_BTD)),
        }
        for what, (ours, theirs) in pairs.items():
            if not float((ours - theirs).norm()) < _ALIKE * float(theirs.norm()):
                raise UnsupportedModelError(
                    f"the {what} of {type(self.model).__name__} is not computed as in a Llama; use --head residual, or train from"
                    " scratch"
                )

    def unembed(self, states: torch.Tensor) -> torch.Tensor:
        head: Any = self.model.get_output_embeddings()
        return finish(head(self._base.norm(states)), self._scale, self._softcap)

    def heads(self, base_model: str) -> MtpHeads:
        with torch.device("meta"):
            heads = MtpHeads(replace(self._config, base_model=base_model))
        heads.layers = self.layers
        heads.norm = nn.Parameter(self._base.norm.weight.detach().clone())
        return heads


@contextmanager
def _cutting(layer: nn.Module, cut: list[torch.Tensor]) -> Iterator[None]:
    """While it holds, the layer reads a leaf instead of what it is given; both are put into ``cut``."""

    def at_the_entrance(_: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        output = given[0] if given else named.pop("hidden_states")
        leaf = output.detach().requires_grad_()
        cut.extend((output, leaf))
        return (leaf, *given[1:]), named

    handle = layer.register_forward_pre_hook(at_the_entrance, with_kwargs=True)
    try:
        yield
    finally:
        handle.remove()


def _states_before(norm: nn.Module, base: Any, ids_BT: torch.Tensor) -> torch.Tensor:
    """What the final norm reads: it belongs to the unembedding, which all heads share."""
    read: list[torch.Tensor] = []
    handle = norm.register_forward_pre_hook(lambda _, given: read.append(given[0]))
    try:
        base(input_ids=ids_BT, use_cache=False)
    finally:
        handle.remove()
    (states_BTD,) = read
    return states_BTD


def _config_of(model: PreTrainedModel, count: int) -> MtpConfig:
    base: Any = model.base_model
    config: Any = model.config.get_text_config()
    if not hasattr(config, "rms_norm_eps"):
        raise UnsupportedModelError(f"{type(model).__name__} has no RMS norms, as Llamas have; use --head residual")
    attention = base.layers[-1].self_attn
    embeddings: Any = model.get_output_embeddings()
    heads, kv_heads = int(config.num_attention_heads), int(getattr(config, "num_key_value_heads", config.num_attention_heads))
    rope = getattr(config, "rope_parameters", None) or {}
    return MtpConfig(
        hidden_size=int(config.hidden_size),
        vocab_size=int(embeddings.weight.shape[0]),
        num_heads=max(1, count),
        attention_heads=heads,
        kv_heads=kv_heads,
        head_size=int(getattr(config, "head_dim", None) or config.hidden_size // heads),
        intermediate_size=int(config.intermediate_size),
        qkv_bias=getattr(getattr(attention, "q_proj", None), "bias", None) is not None,
        norm_eps=float(config.rms_norm_eps),
        rope_theta=float(rope.get("rope_theta") or getattr(config, "rope_theta", None) or 10000.0),
    )


@torch.no_grad()
def _layer_like(last: Any, config: MtpConfig) -> MtpLayer:
    """A head that begins as a copy of the model's last layer, so that it begins as the model's guess of the next token.

    Raises:
        TrainingError: the last layer has other parts than a layer of the Llama kind.
    """
    layer = MtpLayer(config)
    attention, mlp = last.self_attn, last.mlp
    try:
        linears = [attention.q_proj, attention.k_proj, attention.v_proj]
        pairs: Sequence[tuple[torch.Tensor, torch.Tensor]] = [
            (layer.attention_norm, last.input_layernorm.weight),
            (layer.qkv.weight, torch.cat([linear.weight for linear in linears])),
            (layer.out.weight, attention.o_proj.weight),
            (layer.mlp_norm, last.post_attention_layernorm.weight),
            (layer.gate_up.weight, torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight])),
            (layer.down.weight, mlp.down_proj.weight),
        ]
        if config.qkv_bias:
            pairs = [*pairs, (layer.qkv.bias, torch.cat([linear.bias for linear in linears]))]
        for mine, theirs in pairs:
            mine.copy_(theirs)
    except (AttributeError, RuntimeError) as error:
        raise TrainingError(
            f"the last layer is a {type(last).__name__}, which is not of the Llama kind ({error}); use --head residual, or train"
            " from scratch"
        ) from error
    return layer.to(attention.o_proj.weight.device, attention.o_proj.weight.dtype)
