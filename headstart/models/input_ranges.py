"""How large the inputs of a model's matrices become, channel by channel.

A few channels of a transformer are far larger than the rest whatever the text is, so a text of random tokens shows which.

Shapes: I input columns of a matrix.
"""

from collections.abc import Callable
from typing import Any

import torch
from transformers import PreTrainedModel

_TOKENS = 128
_AFTER_NORMS = ("q_proj", "qkv_proj", "gate_proj", "gate_up_proj")
"""The matrices whose input comes from a norm. What goes into the others has no steady channels."""

InputRanges = dict[torch.nn.Module, torch.Tensor]
"""By linear module: the largest magnitude of each input column, I."""


@torch.inference_mode()
def input_ranges(model: PreTrainedModel) -> InputRanges:
    """Seen in one pass over some random tokens, the same ones for every call."""
    base: Any = model
    watched = [module for name, module in base.model.named_modules() if name.rpartition(".")[2] in _AFTER_NORMS]
    ranges: InputRanges = {}
    handles = [module.register_forward_pre_hook(_note_in(ranges)) for module in [*watched, base.lm_head]]
    try:
        ids = torch.randint(base.lm_head.weight.shape[0], (1, _TOKENS), generator=torch.Generator().manual_seed(0))
        base(input_ids=ids.to(base.device), use_cache=False)
    finally:
        for handle in handles:
            handle.remove()
    return ranges


def _note_in(ranges: InputRanges) -> Callable[[torch.nn.Module, tuple[torch.Tensor, ...]], None]:
    def note(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        ranges[module] = inputs[0].abs().flatten(0, -2).amax(0).float()

    return note
