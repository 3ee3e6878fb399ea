"""Any transformers causal language model that keeps keys and values per position, as a :class:`BaseModel`.

Every touch of transformers' internals that changes between its versions is in this file and in ``pass_cache.py``.

Shapes: B rows, N tree nodes, T positions of a chunk, V vocabulary, D hidden.
"""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headstart.errors import UnsupportedModelError
from headstart.models import attention
from headstart.models.config_facts import context_length, eos_ids, layer_reaches, logit_scale, refuse_unsupported
from headstart.models.masks import pass_masks
from headstart.models.pass_cache import PassCache, ShapeProbe
from headstart.models.projection import LinearProjection, finish
from headstart.models.protocol import ModelFacts, Projection
from headstart.models.slot_cache import LayerSpec, SlotCache
from headstart.models.tap import Tap
from headstart.trees.candidate import CandidateTree

ALL_ATTENTION_FUNCTIONS.register(attention.NAME, attention.tree_attention)


class TransformersModel:
    """The general implementation. The given model is used as it is: quantised, on several devices, in any dtype.

    Raises:
        UnsupportedModelError: the model keeps state that cannot be rolled back, or does not take tree masks.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        *,
        name: str | None = None,
        extra_eos_ids: Sequence[int] = (),
        max_rows: int,
        cache_tokens: int,
        max_context: int | None = None,
    ) -> None:
        refuse_unsupported(model)
        self._model = model.eval()
        self._lm_head = model.get_output_embeddings()
        embeddings = model.get_input_embeddings()
        if self._lm_head is None or embeddings is None or model.base_model is model:
            raise UnsupportedModelError(f"{type(model).__name__} has no LM head on a base model; load it with AutoModelForCausalLM")
        self._base: Any = model.base_model
        config: Any = self._base.config
        self._config = config
        self._embeddings = embeddings
        self._scale, self._softcap = logit_scale(model.config)
        self._reaches = layer_reaches(self._config)
        parameters = inspect.signature(self._base.forward).parameters
        if "position_ids" not in parameters:
            raise UnsupportedModelError(
                f"{type(model).__name__} takes no positions: it counts the tokens of a pass (ALiBi does), and in a tree several"
                " nodes stand at one position. Use a model with rotary or learned positions"
            )
        self._cache_argument = "cache" if "cache" in parameters else "past_key_values"
        self._attention: str | None = attention.NAME
        self.tap = Tap()
        weight = next(embeddings.parameters())
        self._facts = ModelFacts(
            name=name or str(getattr(model, "name_or_path", "")) or type(model).__name__,
            vocab_size=int(getattr(self._lm_head, "out_features", 0) or self._lm_head.weight.shape[0]),
            hidden_size=int(config.hidden_size),
            context_length=context_length(self._config, max_context),
            eos_ids=eos_ids(model, extra_eos_ids),
            dtype=weight.dtype if weight.dtype.is_floating_point else model.dtype,
            device=weight.device,
            implementation="transformers",
            softcap=self._softcap,
        )
        self.cache = SlotCache(self._probe_layers(), max_rows=max_rows, max_tokens=cache_tokens)
        self._pass_cache = PassCache(self.cache)

    @property
    def facts(self) -> ModelFacts:
        return self._facts

    @torch.inference_mode()
    def prefill(self, ids_BT: torch.Tensor, first_row: int, counts_B: Sequence[int]) -> torch.Tensor:
        rows, chunk = ids_BT.shape
        positions = torch.arange(chunk, device=ids_BT.device)
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
        return finish(self._lm_head(hidden), self._scale, self._softcap)

    def projection(self, ids: torch.Tensor | None = None, *, rough: bool = False) -> Projection:
        weight, bias = self._lm_head.weight, getattr(self._lm_head, "bias", None)
        if not weight.dtype.is_floating_point:  # quantised: the product is the module's own affair
            return self.lm_head if ids is None else _Selected(self.lm_head, ids)
        weight, bias = weight.detach(), None if bias is None else bias.detach()
        if ids is not None:
            weight, bias = weight[ids.to(weight.device)], None if bias is None else bias[ids.to(weight.device)]
        return LinearProjection(weight, bias, self._scale, self._softcap)

    @torch.inference_mode()
    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        embedded: torch.Tensor = self._embeddings(ids)
        return embedded

    def _forward(self, ids_BN: torch.Tensor, depth_BN: torch.Tensor, ancestors_BNN: torch.Tensor, first_row: int) -> torch.Tensor:
        rows, nodes = ids_BN.shape
        lengths = self.cache.lengths[first_row : first_row + rows]
        self.cache.reserve(self.cache.rows, max(lengths) + nodes)
        device = self._facts.device
        depth_BN = depth_BN.to(device)
        masks = pass_masks(lengths, depth_BN, ancestors_BNN.to(device), self._reaches, self._facts.dtype)
        positions = torch.tensor(lengths, device=device)[:, None] + depth_BN
        self._pass_cache.begin(first_row, lengths, nodes)
        # nodes of padding may stand beyond the last position; a learned table has no row for it
        return self._run(
            ids_BN.clamp(min=0).to(device), positions.clamp(max=self._facts.context_length - 1), masks, self._pass_cache
        )

    def _run(self, ids: torch.Tensor, positions: torch.Tensor, masks: dict[str, torch.Tensor], cache: Any) -> torch.Tensor:
        mask = masks if len(masks) > 1 else next(iter(masks.values()))
        with self._lent_attention():
            out = self._base(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                use_cache=True,
                **{self._cache_argument: cache},
                **({"output_hidden_states": True} if self.tap.wanted else {}),
            )
        if self.tap.wanted:
            self.tap.keep(out.hidden_states[-2])  # the last one is behind the last layer
        hidden: torch.Tensor = out.last_hidden_state
        return hidden

    @contextmanager
    def _lent_attention(self) -> Iterator[None]:
        """Our attention for the time of a pass; the caller's model keeps its own for everything else."""
        own = self._config._attn_implementation_internal
        self._config._attn_implementation_internal = self._attention or "eager"
        try:
            yield
        finally:
            self._config._attn_implementation_internal = own

    @torch.inference_mode()
    def _probe_layers(self) -> list[LayerSpec]:
        """What each layer keeps, found by running two tokens."""
        device = self._facts.device
        ids, depth = torch.zeros((1, 2), dtype=torch.int64, device=device), torch.arange(2, device=device)[None]
        masks = pass_masks(
            [0], depth, torch.ones(1, 2, 2, dtype=torch.bool, device=device).tril(), self._reaches, self._facts.dtype
        )
        for self._attention in (attention.NAME, None):
            probe = ShapeProbe()
            try:
                self._run(ids, depth, masks, probe)
            except attention.NotCoveredError:
                continue
            except (TypeError, ValueError, RuntimeError) as error:
                raise UnsupportedModelError(
                    f"{type(self._model).__name__} cannot run with given positions and a 4D attention mask, which tree attention"
                    f" needs ({type(error).__name__}: {error})"
                ) from error
            return probe.specs(type(self._model).__name__)
        raise AssertionError("eager attention never refuses")


class _Selected:
    """An LM head whose weights cannot be sliced: the whole product, then the columns."""

    def __init__(self, whole: Projection, ids: torch.Tensor) -> None:
        self.whole, self.ids = whole, ids

    def __call__(self, hidden: torch.Tensor) -> torch.Tensor:
        return self.whole(hidden)[..., self.ids.to(hidden.device)]
