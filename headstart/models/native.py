"""A compact decoder of the Llama family: joined and prepacked products, attention over the live part of the cache.

It does what the transformers adapter does for these models in about half the time per pass. Which models it covers is
decided in ``native_spec.py``; everything else goes to the adapter.

Shapes: B rows, N nodes, T positions of a chunk, V vocabulary, H query heads, J key/value heads, D hidden size or size of a head.
"""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from transformers import PreTrainedModel

from headstart.errors import UnsupportedModelError
from headstart.models.bitwise_attention import BitwiseAttention
from headstart.models.bitwise_probe import fitting_span
from headstart.models.config_facts import context_length, eos_ids, logit_scale
from headstart.models.native_attention import FastAttention
from headstart.models.native_norm import RMSNorm
from headstart.models.native_pass import NativeCache, NativePass
from headstart.models.native_rotary import Rotary
from headstart.models.native_spec import spec_of
from headstart.models.native_weights import NativeLayer, native_layer
from headstart.models.packed_linear import PackedLinear
from headstart.models.projection import finish
from headstart.models.protocol import ModelFacts, Projection
from headstart.models.slot_cache import LayerSpec
from headstart.trees.candidate import CandidateTree

_ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": F.silu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


def covers(model: PreTrainedModel) -> bool:
    """Whether the native decoder can stand for this model."""
    return spec_of(model) is not None


class NativeModel:
    """The native implementation behind :class:`BaseModel`. The transformers model is read and not kept.

    Args:
        bitwise: sum in an order that a token's position alone decides, so that in bfloat16 on a CPU its logits have the same
            bits in plain decoding, in any tree, batch and chunk of a prompt (``bitwise_probe.py`` says whether this processor
            keeps that). Otherwise in whatever order is fastest.

    Raises:
        UnsupportedModelError: the model is not covered.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        name: str,
        extra_eos_ids: Sequence[int] = (),
        max_rows: int,
        cache_tokens: int,
        max_context: int | None = None,
        bitwise: bool = False,
    ) -> None:
        spec = spec_of(model)
        if spec is None:
            raise UnsupportedModelError(f"the native decoder does not cover {type(model).__name__}; use the transformers adapter")
        self._spec, self.bitwise = spec, bitwise
        self._span = (fitting_span() or 2) if bitwise else 0
        self._product = PackedLinear.alike if bitwise else PackedLinear.__call__
        base, config = model.model, model.config
        self._embedding_VD = base.embed_tokens.weight.detach()
        self._embedding_scale = getattr(base.embed_tokens, "embed_scale", None)
        self._head_VD = model.lm_head.weight.detach()
        self._head_bias_V = None if model.lm_head.bias is None else model.lm_head.bias.detach()
        self._lm_head = PackedLinear(self._head_VD, self._head_bias_V)
        self._logit_scale, self._logit_softcap = logit_scale(config)
        self._norm = RMSNorm(base.norm.weight, spec.eps, plus_one=spec.family.norm_plus_one)
        self._layers = [native_layer(layer, spec) for layer in base.layers]
        self._activation = _ACTIVATIONS[spec.activation]
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
        self._rotary = Rotary(base.rotary_emb, tuple(spec.reaches), self._facts.context_length, dtype)
        kept = LayerSpec(spec.kv_heads, spec.head_size, spec.head_size, dtype, device)
        self.cache = NativeCache([kept] * len(self._layers), max_rows=max_rows, max_tokens=cache_tokens)

    @property
    def facts(self) -> ModelFacts:
        return self._facts

    @torch.inference_mode()
    def prefill(self, ids_BT: torch.Tensor, first_row: int, counts_B: Sequence[int]) -> torch.Tensor:
        rows, chunk = ids_BT.shape
        positions = torch.arange(chunk)
        causal = (positions[:, None] >= positions).expand(rows, chunk, chunk)
        hidden = self._forward(ids_BT, positions.expand(rows, chunk), causal, None, first_row)
        for row, count in enumerate(counts_B, first_row):
            self.cache.lengths[row] += count
        return hidden

    @torch.inference_mode()
    def verify(self, tree: CandidateTree) -> torch.Tensor:
        return self._forward(tree.tokens_BN, tree.depth_BN, tree.ancestors_BNN, tree.parent_BN, 0)

    @torch.inference_mode()
    def lm_head(self, hidden: torch.Tensor) -> torch.Tensor:
        return finish(self._product(self._lm_head, hidden), self._logit_scale, self._logit_softcap)

    def projection(self, ids: torch.Tensor | None = None) -> Projection:
        if ids is None:
            return self.lm_head
        bias_V = None if self._head_bias_V is None else self._head_bias_V[ids]
        linear, scale, softcap = PackedLinear(self._head_VD[ids], bias_V), self._logit_scale, self._logit_softcap
        return lambda hidden: finish(linear(hidden), scale, softcap)

    @torch.inference_mode()
    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        embedded = F.embedding(ids, self._embedding_VD)
        return embedded if self._embedding_scale is None else embedded * self._embedding_scale.to(embedded.dtype)

    def _forward(
        self,
        ids_BN: torch.Tensor,
        depth_BN: torch.Tensor,
        ancestors_BNN: torch.Tensor,
        parent_BN: torch.Tensor | None,
        first_row: int,
    ) -> torch.Tensor:
        """Hidden states after the final norm, B x N x D. Without ``parent_BN`` each node is the parent of the next."""
        one_pass = NativePass(self.cache, first_row, depth_BN, ancestors_BNN)
        attention: FastAttention | BitwiseAttention
        if self.bitwise:
            attention = BitwiseAttention(one_pass, parent_BN, self._spec, self._facts.dtype, self._span)
        else:
            attention = FastAttention(one_pass, self._spec, self._facts.dtype)
        turns = self._rotary.turns(one_pass.positions_BN, one_pass.live)
        x, product = self.embed(ids_BN.clamp(min=0)), self._product
        for index, (layer, kind) in enumerate(zip(self._layers, self._spec.kinds_L, strict=True)):
            qk, v = self._heads(layer, x if layer.attention_norm is None else layer.attention_norm(x))
            qk = self._rotary.of_layer(turns, kind)(qk)
            mixed = attention(index, qk[:, :, : self._spec.heads], qk[:, :, self._spec.heads :], v)
            added = product(layer.out, mixed)
            x = x + (added if layer.attention_out_norm is None else layer.attention_out_norm(added))
            gate, up = product(layer.gate_up, x if layer.mlp_norm is None else layer.mlp_norm(x)).chunk(2, -1)
            added = product(layer.down, self._activation(gate) * up)
            x = x + (added if layer.mlp_out_norm is None else layer.mlp_out_norm(added))
        return self._norm(x)

    def _heads(self, layer: NativeLayer, x_BND: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Queries and keys joined, B x N x (H + J) x D, and values, B x N x J x D."""
        spec = self._spec
        qkv = self._product(layer.qkv, x_BND)
        turned = spec.heads + spec.kv_heads
        if layer.query_norm is not None and layer.key_norm is not None:
            q, k, v = qkv.split([spec.heads * spec.head_size, spec.kv_heads * spec.head_size, spec.kv_heads * spec.head_size], -1)
            qkv = torch.cat([layer.query_norm(q), layer.key_norm(k), v], -1)
        qkv = qkv.view(*qkv.shape[:2], turned + spec.kv_heads, spec.head_size)
        qk, v = qkv[:, :, :turned], qkv[:, :, turned:]
        return (qk if layer.head_norm is None else layer.head_norm(qk)), v
