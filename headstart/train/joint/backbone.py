"""The model that learns beside its heads: through LoRA, or with its layers themselves. Embeddings and LM head stay as they are.

The heads share the LM head and read embeddings, and what they were trained to read has to remain what it is.

Shapes: B rows, T positions, D hidden.
"""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headstart.errors import TrainingError
from headstart.models.protocol import BaseModel
from headstart.models.quiet import no_progress_bars
from headstart.models.transformers_adapter import TransformersModel
from headstart.train.joint.last_layers import last_layers
from headstart.train.joint.lora import add_lora, merge_lora
from headstart.train.joint.options import JointOptions

_ADAPTER = "adapter"


class Backbone:
    """A transformers model whose hidden states can be trained."""

    def __init__(self, model: PreTrainedModel, name: str, options: JointOptions, compute: torch.dtype) -> None:
        untyped: Any = model
        untyped.requires_grad_(False)
        self.model: Any = untyped
        self.compute = compute
        self._held: torch.dtype = model.dtype
        # what never changes: embeddings and LM head, as every base model gives them
        self.base: BaseModel = TransformersModel(model, name=name, max_rows=1, cache_tokens=1)
        self._adapter: Any = add_lora(model, options) if options.backbone == "lora" else None
        if self._adapter is None:
            for part in [untyped] if options.layers is None else last_layers(model, options.layers).values():
                part.requires_grad_(True)
            for part in (untyped.get_input_embeddings(), untyped.get_output_embeddings()):
                part.requires_grad_(False)
        if options.checkpointing:
            # its name before transformers 5.24
            enable = getattr(untyped, "activation_checkpointing_enable", None) or untyped.gradient_checkpointing_enable
            enable({"use_reentrant": False})

    @property
    def device(self) -> torch.device:
        return self.base.facts.device

    def trained(self) -> dict[str, nn.Parameter]:
        """What learns, by name."""
        return {name: parameter for name, parameter in self.model.named_parameters() if parameter.requires_grad}

    def train(self, on: bool = True) -> None:
        self.model.train(on)

    def hidden(self, ids_BT: torch.Tensor, positions_BT: torch.Tensor) -> torch.Tensor:
        """States behind the final norm, B x T x D; where positions begin anew a text begins, and it sees no other."""
        reduced = self.compute != torch.float32
        with torch.autocast(self.device.type, self.compute) if reduced else nullcontext():
            out = self.model.base_model(input_ids=ids_BT, position_ids=positions_BT, use_cache=False)
        states: torch.Tensor = out.last_hidden_state
        return states

    def save(self, output: Path, tokenizer: PreTrainedTokenizerBase | None, dtype: torch.dtype) -> None:
        """Write the model with everything merged to ``output`` in ``dtype``, and the adapter alone to ``output/adapter``. The end:
        after this the model is the merged one, as it was rounded, but computes in the same formats as before: what is measured on
        it can be compared.

        Raises:
            TrainingError: it cannot be written.
        """
        try:
            if self._adapter is not None:
                self._adapter.save_pretrained(output / _ADAPTER)
                _cast(self.model, torch.float32)  # the sum is rounded once
                merge_lora(self._adapter)
                self._adapter = None
            _cast(self.model, dtype)
            with no_progress_bars():
                self.model.save_pretrained(output)
            if tokenizer is not None:
                tokenizer.save_pretrained(output)
            _cast(self.model, self._held)
        except (OSError, SafetensorError) as error:
            raise TrainingError(f"cannot write the model to {output}: {error}; make room and resume") from error


def _cast(model: nn.Module, dtype: torch.dtype) -> None:
    """Parameters alone: rotary frequencies are buffers, in float32 in a loaded model too, and are wrong far out in bfloat16."""
    for parameter in model.parameters():
        parameter.data = parameter.data.to(dtype)
