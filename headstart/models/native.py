"""A compact decoder of the Llama architecture: fused and prepacked products, attention over the live part of the cache.

It does what the transformers adapter does for these models in about half the time per pass. Which models it covers is
decided in ``covers``; everything else goes to the adapter.

Shapes: B rows, N nodes, H query heads, J key/value heads, G query heads per key/value head, S slots, D size of a head, L layers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from transformers import LlamaForCausalLM, PreTrainedModel

from headstart.models.config_facts import context_length, eos_ids
from headstart.models.masks import Reach, pass_masks
from headstart.models.packed_linear import PackedLinear
from headstart.models.protocol import ModelFacts, Projection
from headstart.models.slot_cache import LayerSpec, SlotCache
from headstart.trees.candidate import CandidateTree

_REACH = {"full": Reach()}
_FLASH_FROM = 64  # nodes in a pass from which the fused attention kernel beats two plain products


def covers(model: PreTrainedModel) -> bool:
    """Whether this model is a plain Llama on one device, in a floating-point format."""
    if type(model) is not LlamaForCausalLM or getattr(model, "hf_device_map", None):
        return False
    config: Any = model.config
    parameters = list(model.parameters())
    return (
        config.rope_parameters.get("rope_type", "default") == "default"
        and not config.attention_bias
        and not config.mlp_bias
        and config.hidden_act == "silu"
        and getattr(model, "hf_quantizer", None) is None
        and len({(p.dtype, p.device) for p in parameters}) == 1
        and parameters[0].device.type == "cpu"
    )


@dataclass(frozen=True)
class _Layer:
    attention_norm: torch.Tensor
    mlp_norm: torch.Tensor
    qkv: PackedLinear
    out: PackedLinear
    gate_up: PackedLinear
    down: PackedLinear


class NativeModel:
    """The native implementation behind :class:`BaseModel`. The transformers model is read and not kept."""

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        name: str,
        extra_eos_ids: Sequence[int] = (),
        max_rows: int,
        cache_tokens: int,
        max_context: int | None = None,
    ) -> None:
        config: Any = model.config
        self._heads, self._kv_heads = config.num_attention_heads, config.num_key_value_heads
        self._size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        self._eps = config.rms_norm_eps
        base: Any = model.model
        self._embedding_VD = base.embed_tokens.weight.detach()
        self._head_VD = model.lm_head.weight.detach()
        self._lm_head = PackedLinear(self._head_VD)
        self._norm = base.norm.weight.detach()
        self._layers = [_layer(layer) for layer in base.layers]
        dtype, device = self._embedding_VD.dtype, self._embedding_VD.device
        self._facts = ModelFacts(
            name=name,
            vocab_size=self._head_VD.shape[0],
            hidden_size=config.hidden_size,
            context_length=context_length(config, max_context),
            eos_ids=eos_ids(model, extra_eos_ids),
            dtype=dtype,
            device=device,
            implementation="native",
        )
        self._cos_TD, self._sin_TD = _rotary(base.rotary_emb, self._facts.context_length, dtype)
        spec = LayerSpec(self._kv_heads, self._size, self._size, dtype, device)
        self.cache = SlotCache([spec] * len(self._layers), max_rows=max_rows, max_tokens=cache_tokens)

    @property
    def facts(self) -> ModelFacts:
        return self._facts

    @torch.inference_mode()
    def prefill(self, ids_BT: torch.Tensor, first_row: int, counts_B: Sequence[int]) -> torch.Tensor:
        rows, chunk = ids_BT.shape
        positions = torch.arange(chunk)
        causal = (positions[:, None] >= positions).expand(rows, chunk, chunk)
        hidden = self._forward(ids_BT, positions.expand(rows, chunk), causal, first_row)
        for row, count in enumerate(counts_B, first_row):
            self.cache.lengths[row] += count
        return hidden

    @torch.inference_mode()
    def verify(self, tree: CandidateTree) -> torch.Tensor:
        return self._forward(tree.tokens_BN, tree.depth_BN, tree.ancestors_BNN, 0)

    @torch.inference_mode()
    def lm_head(self, hidden: torch.Tensor) -> torch.Tensor:
        return self._lm_head(hidden)

    def projection(self, ids: torch.Tensor | None = None) -> Projection:
        return self._lm_head if ids is None else PackedLinear(self._head_VD[ids])

    @torch.inference_mode()
    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        return F.embedding(ids, self._embedding_VD)

    def _forward(self, ids_BN: torch.Tensor, depth_BN: torch.Tensor, ancestors_BNN: torch.Tensor, first_row: int) -> torch.Tensor:
        rows, nodes = ids_BN.shape
        lengths = self.cache.lengths[first_row : first_row + rows]
        self.cache.reserve(self.cache.rows, max(lengths) + nodes)
        mask = pass_masks(lengths, depth_BN, ancestors_BNN, _REACH, self._facts.dtype)["full"]
        positions = (torch.tensor(lengths)[:, None] + depth_BN).clamp(max=self._facts.context_length - 1)
        attention = _Attention(self.cache, first_row, lengths, nodes, mask, self._heads // self._kv_heads)
        # the heads' axis in front of the nodes', as the cache has it
        cos, sin = self._cos_TD[positions][:, None], self._sin_TD[positions][:, None]
        x = F.embedding(ids_BN.clamp(min=0), self._embedding_VD)
        size, rotated = (x.shape[-1],), self._heads + self._kv_heads
        half = self._size // 2
        for index, layer in enumerate(self._layers):
            qkv = layer.qkv(F.rms_norm(x, size, layer.attention_norm, self._eps))
            qkv = qkv.view(rows, nodes, rotated + self._kv_heads, self._size).transpose(1, 2)
            qk = qkv[:, :rotated]
            qk = qk * cos + torch.cat([-qk[..., half:], qk[..., :half]], -1) * sin
            mixed = attention(index, qk[:, : self._heads], qk[:, self._heads :], qkv[:, rotated:])
            x = x + layer.out(mixed)
            gate, up = layer.gate_up(F.rms_norm(x, size, layer.mlp_norm, self._eps)).chunk(2, -1)
            x = x + layer.down(F.silu(gate) * up)
        return F.rms_norm(x, size, self._norm, self._eps)


class _Attention:
    """Attention of one pass, layer by layer: writes the nodes into the cache and reads its live part."""

    def __init__(
        self, cache: SlotCache, first_row: int, lengths: Sequence[int], nodes: int, mask_B1NS: torch.Tensor, groups: int
    ) -> None:
        self._cache, self._groups = cache, groups
        self._span = slice(first_row, first_row + len(lengths))
        self._start, self._live = lengths[0], max(lengths) + nodes
        self._even = all(length == self._start for length in lengths)
        self._rows_B1 = torch.arange(len(lengths))[:, None]
        self._slots_BN = torch.tensor(lengths)[:, None] + torch.arange(nodes)
        self._flash = nodes >= _FLASH_FROM
        self._mask = mask_B1NS.repeat(1, 1, groups, 1)
        if not self._flash:
            self._mask = self._mask.to(torch.promote_types(mask_B1NS.dtype, torch.float32))

    def __call__(self, layer: int, q_BHND: torch.Tensor, k_BJND: torch.Tensor, v_BJND: torch.Tensor) -> torch.Tensor:
        """Returns B x N x (H * D)."""
        keys, values = self._write(layer, k_BJND, v_BJND)
        rows, heads, nodes, size = q_BHND.shape
        q = q_BHND.reshape(rows, heads // self._groups, self._groups * nodes, size)
        if self._flash:
            out = F.scaled_dot_product_attention(q, keys, values, attn_mask=self._mask, scale=size**-0.5)
        else:
            # keys times queries, not queries times keys: oneDNN is several times faster with the long side in front
            scores = torch.matmul(keys, (q * size**-0.5).transpose(2, 3)).transpose(2, 3) + self._mask
            out = torch.matmul(torch.softmax(scores, -1).to(values.dtype), values)
        return out.reshape(rows, heads, nodes, size).transpose(1, 2).reshape(rows, nodes, heads * size)

    def _write(self, layer: int, k_BJND: torch.Tensor, v_BJND: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        keys_RJSD, values_RJSD = self._cache.layer(layer)
        keys, values = keys_RJSD[self._span], values_RJSD[self._span]
        if self._even:
            keys[:, :, self._start : self._live] = k_BJND
            values[:, :, self._start : self._live] = v_BJND
        else:
            keys[self._rows_B1, :, self._slots_BN] = k_BJND.transpose(1, 2)
            values[self._rows_B1, :, self._slots_BN] = v_BJND.transpose(1, 2)
        return keys[:, :, : self._live], values[:, :, : self._live]


def _layer(layer: Any) -> _Layer:
    attention, mlp = layer.self_attn, layer.mlp
    return _Layer(
        attention_norm=layer.input_layernorm.weight.detach(),
        mlp_norm=layer.post_attention_layernorm.weight.detach(),
        qkv=PackedLinear(torch.cat([attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight]).detach()),
        out=PackedLinear(attention.o_proj.weight.detach()),
        gate_up=PackedLinear(torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]).detach()),
        down=PackedLinear(mlp.down_proj.weight.detach()),
    )


@torch.inference_mode()
def _rotary(module: torch.nn.Module, positions: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Cosines and sines of all positions, T x D, by the model's own module."""
    cos, sin = module(torch.zeros(1, dtype=dtype), torch.arange(positions)[None])
    return cos[0], sin[0]
