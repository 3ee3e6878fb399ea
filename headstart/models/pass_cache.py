"""The slot cache in the shape that transformers' attention layers know: a ``Cache`` whose update writes behind each row.

Shapes: B rows, H key/value heads, N nodes, S slots, D size of a head.
"""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import Cache

from headstart.errors import UnsupportedModelError
from headstart.models.slot_cache import LayerSpec, SlotCache


class _NoRecurrentState(Cache):
    """A cache that has keys and values, and says so to a layer that asks for anything else."""

    def __init__(self) -> None:
        super().__init__(layers=[])

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return 0

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise UnsupportedModelError(
            "this model keeps recurrent or indexed state besides keys and values, which cannot be rolled back after a rejected"
            " guess; use a model whose layers are all attention"
        )

    get_conv_state = update_conv_state = get_recurrent_state = update_recurrent_state = update_indexer = _refuse


class PassCache(_NoRecurrentState):
    """One pass over rows ``first_row`` onwards; :meth:`begin` says where its nodes are written."""

    def __init__(self, cache: SlotCache) -> None:
        super().__init__()
        self._cache = cache

    def begin(self, first_row: int, lengths_B: Sequence[int], nodes: int) -> None:
        self._span = slice(first_row, first_row + len(lengths_B))
        self._live = max(lengths_B) + nodes
        self._start = lengths_B[0]
        self._even = all(length == self._start for length in lengths_B)
        self._nodes = nodes
        self._rows_B1 = torch.arange(len(lengths_B))[:, None]
        self._slots_BN = torch.tensor(lengths_B)[:, None] + torch.arange(nodes)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write B x H x N x D behind each row's length; returns the live part B x H x S x D of the rows, as views."""
        keys_RHSD, values_RHSD = self._cache.layer(layer_idx)
        keys, values = keys_RHSD[self._span], values_RHSD[self._span]
        if self._even:
            keys[:, :, self._start : self._live] = key_states
            values[:, :, self._start : self._live] = value_states
        else:
            rows, slots = self._rows_B1.to(keys.device), self._slots_BN.to(keys.device)
            keys[rows, :, slots] = key_states.transpose(1, 2)
            values[rows, :, slots] = value_states.transpose(1, 2)
        return keys[:, :, : self._live], values[:, :, : self._live]


class ShapeProbe(_NoRecurrentState):
    """Remembers what each layer would keep."""

    def __init__(self) -> None:
        super().__init__()
        self._specs: dict[int, LayerSpec] = {}

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self._specs[layer_idx] = LayerSpec(
            heads=key_states.shape[1],
            key_size=key_states.shape[-1],
            value_size=value_states.shape[-1],
            dtype=key_states.dtype,
            device=key_states.device,
        )
        return key_states, value_states

    def specs(self, model: str) -> list[LayerSpec]:
        """A spec for each layer that keeps something, by layer number.

        Raises:
            UnsupportedModelError: the model kept nothing.
        """
        if not self._specs:
            raise UnsupportedModelError(
                f"{model} did not put keys and values into the cache it was given; Headstart needs a model of attention layers"
            )
        filler = next(iter(self._specs.values()))
        return [self._specs.get(i, LayerSpec(0, 0, 0, filler.dtype, filler.device)) for i in range(max(self._specs) + 1)]
