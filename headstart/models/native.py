"""A compact decoder of the Llama family: joined and prepacked products, attention over the live part of the cache.

It does what the transformers adapter does for these models in about half the time per pass. Which models it covers is
decided in ``native_spec.py``; everything else goes to the adapter.

Shapes: B rows, N nodes, T positions of a chunk, V vocabulary, H query heads, J key/value heads, D hidden size or size of a head.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
import torch.nn.functional as F
from transformers import PreTrainedModel

from headstart.errors import InvalidParameterError, UnsupportedModelError
from headstart.models.bitwise_attention import DEEPEST, BitwiseAttention
from headstart.models.bitwise_probe import fitting_span
from headstart.models.config_facts import context_length, eos_ids, logit_scale
from headstart.models.input_ranges import input_ranges
from headstart.models.int8_linear import int8_fault
from headstart.models.native_attention import FastAttention
from headstart.models.native_mlp import Product
from headstart.models.native_norm import RMSNorm
from headstart.models.native_pass import NativeCache, NativePass
from headstart.models.native_rotary import Rotary, Turn
from headstart.models.native_spec import spec_of
from headstart.models.native_weights import NativeLayer, native_layer
from headstart.models.projection import finish
from headstart.models.protocol import ModelFacts, Projection
from headstart.models.slot_cache import LayerSpec
from headstart.models.tap import Tap
from headstart.models.weights_format import FORMATS, TRACEABLE, Linear, weights_format
from headstart.trees.candidate import CandidateTree

_FASTEST_FEW = 4
"""Rows from which on oneDNN's packed bfloat16 products stop to get faster."""

LayerAttention = Callable[[int, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]
"""Layer, queries B x N x H x D, keys and values B x N x J x D; returns B x N x (H * D)."""


def _as_it_is(linear: Linear, x: torch.Tensor) -> torch.Tensor:
    return linear(x)


def _alike(linear: Linear, x: torch.Tensor) -> torch.Tensor:
    return linear.alike(x)


def _refuse_off_cpu(weights: str | None, device: torch.device) -> None:
    if weights is not None and device.type != "cpu":
        raise InvalidParameterError(
            f"weights={weights!r} is for CPUs, and the model is on {device}; leave weights out, or load with device='cpu'"
        )


def covers(model: PreTrainedModel, *, compiled: bool = False) -> bool:
    """Whether the native decoder can stand for this model. Compiled passes have fixed shapes, which a choice of experts has not."""
    spec = spec_of(model)
    return spec is not None and not (compiled and spec.family.experts)


class NativeModel:
    """The native implementation behind :class:`BaseModel`. The transformers model is read and not kept.

    Args:
        bitwise: sum in an order that a token's position alone decides, so that in bfloat16 on a CPU its logits have the same
            bits in plain decoding, in any tree, batch and chunk of a prompt (``bitwise_probe.py`` says whether this processor
            keeps that). Otherwise in whatever order is fastest.
        weights: the format that the matrices are kept in, by name (``weights_format.py``); None is the model's own. The embeddings
            keep theirs.
        traceable: keep matrices as tensors that a compiler can see, instead of the order that a library likes best.

    Raises:
        UnsupportedModelError: the model is not covered.
        InvalidParameterError: the format is unknown, or cannot be had here.
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
        weights: str | None = None,
        traceable: bool = False,
    ) -> None:
        spec = spec_of(model)
        if spec is None:
            raise UnsupportedModelError(f"the native decoder does not cover {type(model).__name__}; use the transformers adapter")
        self.spec, self.bitwise, self.weights = spec, bitwise, weights
        self._format = TRACEABLE if traceable else weights_format(weights)
        _refuse_off_cpu(weights, model.device)
        ranges = input_ranges(model) if self._format.wants_ranges else {}
        self._span = (fitting_span() or 2) if bitwise else 0
        self._product: Product = _alike if bitwise else _as_it_is
        base, config = model.model, model.config
        self._embedding_VD = base.embed_tokens.weight.detach()
        self._embedding_scale = getattr(base.embed_tokens, "embed_scale", None)
        self._head_VD = model.lm_head.weight.detach()
        self._head_bias_V = None if model.lm_head.bias is None else model.lm_head.bias.detach()
        self._head_range_D = ranges.get(model.lm_head)
        self._lm_head = self._format.make_head(self._head_VD, self._head_bias_V, self._head_range_D)
        self._logit_scale, self._logit_softcap = logit_scale(config)
        self._norm = RMSNorm(base.norm.weight, spec.eps, plus_one=spec.family.norm_plus_one)
        packed_bfloat16 = self._lm_head.packed and self._head_VD.dtype == torch.bfloat16
        self._rough_pays = packed_bfloat16 and int8_fault() is None
        self._least_rows = _FASTEST_FEW if weights is None and packed_bfloat16 else 1
        least, product = self._least_rows, self._product
        self._layers = [native_layer(layer, spec, self._format, ranges, product, least) for layer in base.layers]
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
            weights=weights,
            softcap=self._logit_softcap,
            deepest_tree=DEEPEST if bitwise else None,
        )
        self.rotary = Rotary(base.rotary_emb, tuple(spec.reaches), self._facts.context_length, dtype)
        kept = LayerSpec(spec.kv_heads, spec.head_size, spec.head_size, dtype, device)
        self.cache = NativeCache([kept] * len(self._layers), max_rows=max_rows, max_tokens=cache_tokens)
        self.tap = Tap()

    @property
    def facts(self) -> ModelFacts:
        return self._facts

    @property
    def weight_bytes(self) -> int:
        """Bytes of the weights that are held: the matrices as they are kept, the embeddings, and an LM head of its own."""
        tied = self._head_VD.data_ptr() == self._embedding_VD.data_ptr()
        plain: list[torch.Tensor] = [self._embedding_VD] if tied else [self._embedding_VD, self._head_VD]
        if not self._lm_head.packed:  # then the last of them is what it multiplies by
            plain.pop()
        return self.product_bytes + sum(weight.numel() * weight.element_size() for weight in plain)

    @property
    def product_bytes(self) -> int:
        """Bytes of the matrices that every pass reads, the LM head included."""
        return self._lm_head.weight_bytes + sum(layer.weight_bytes for layer in self._layers)

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
        if hidden.numel() == hidden.shape[-1] and self._least_rows > 1:
            logits_1V = self._product(self._lm_head, hidden.reshape(1, -1).expand(self._least_rows, -1))[:1]
            logits = logits_1V.view(*hidden.shape[:-1], -1)
        else:
            logits = self._product(self._lm_head, hidden)
        return finish(logits, self._logit_scale, self._logit_softcap)

    def projection(self, ids: torch.Tensor | None = None, *, rough: bool = False) -> Projection:
        if ids is None:
            return self.lm_head
        bias_V = None if self._head_bias_V is None else self._head_bias_V[ids]
        make = FORMATS["int8"].make_head if rough and self._rough_pays else self._format.make_head
        linear = make(self._head_VD[ids], bias_V, self._head_range_D)
        scale, softcap = self._logit_scale, self._logit_softcap
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
            attention = BitwiseAttention(one_pass, parent_BN, self.spec, self._facts.dtype, self._span)
        else:
            attention = FastAttention(one_pass, self.spec, self._facts.dtype)
        turns = self.rotary.turns(one_pass.positions_BN, one_pass.live)
        hidden_BND, before_last_BND = self.through_layers(self.embed(ids_BN.clamp(min=0)), turns, attention)
        self.tap.keep(before_last_BND)
        return hidden_BND

    def through_layers(
        self, x_BND: torch.Tensor, turns: Mapping[str, Turn], attention: LayerAttention
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """From embeddings to hidden states after the final norm, and to those before the last layer."""
        x, product, nodes = self._widened(x_BND), self._product, x_BND.shape[1]
        before = x
        for index, (layer, kind) in enumerate(zip(self._layers, self.spec.kinds_L, strict=True)):
            before = x
            qkv = product(layer.qkv, x if layer.attention_norm is None else layer.attention_norm(x))
            qk, v = self._heads(layer, qkv if nodes == x.shape[1] else qkv[:, :nodes])
            qk = self.rotary.of_layer(turns, kind)(qk)
            mixed = attention(index, qk[:, :, : self.spec.heads], qk[:, :, self.spec.heads :], v)
            added = product(layer.out, self._widened(mixed))
            x = x + (added if layer.attention_out_norm is None else layer.attention_out_norm(added))
            added = layer.mlp(x if layer.mlp_norm is None else layer.mlp_norm(x))
            x = x + (added if layer.mlp_out_norm is None else layer.mlp_out_norm(added))
        return self._norm(x[:, :nodes]), before[:, :nodes]

    def _widened(self, x_BND: torch.Tensor) -> torch.Tensor:
        """A pass over fewer than four tokens multiplies some again: oneDNN is faster with four rows than with one or two."""
        rows, nodes = x_BND.shape[:2]
        if rows * nodes >= self._least_rows:
            return x_BND
        times = -(-self._least_rows // (rows * nodes))
        return x_BND.expand(-1, times, -1) if nodes == 1 else torch.cat([x_BND] * times, 1)

    def _heads(self, layer: NativeLayer, qkv: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Queries and keys joined, B x N x (H + J) x D, and values, B x N x J x D, of a product B x N x ((H + 2 J) * D)."""
        spec = self.spec
        turned = spec.heads + spec.kv_heads
        if layer.query_norm is not None and layer.key_norm is not None:
            q, k, v = qkv.split([spec.heads * spec.head_size, spec.kv_heads * spec.head_size, spec.kv_heads * spec.head_size], -1)
            qkv = torch.cat([layer.query_norm(q), layer.key_norm(k), v], -1)
        qkv = qkv.view(*qkv.shape[:2], turned + spec.kv_heads, spec.head_size)
        qk, v = qkv[:, :, :turned], qkv[:, :, turned:]
        return (qk if layer.head_norm is None else layer.head_norm(qk)), v
