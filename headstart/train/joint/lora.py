"""LoRA through peft. Source: Hu et al. 2021; ranks and dropout as in Medusa (Cai et al. 2024), section 2.2.2."""

import warnings
from typing import Any

import torch
from transformers import PreTrainedModel

from headstart.errors import TrainingError
from headstart.train.joint.last_layers import last_layers, linear_names
from headstart.train.joint.options import JointOptions


def add_lora(model: PreTrainedModel, options: JointOptions) -> Any:
    """Put LoRA matrices, in float32, beside all linear layers but the LM head, or those of the last layers alone; ``model`` itself
    runs through them from then on.

    Raises:
        TrainingError: peft is not installed, or does not know what to adapt in this model, or it has fewer layers.
    """
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as error:
        raise TrainingError(
            "LoRA needs the package peft, which is missing: pip install 'headstart[train]' (or train with --backbone full)"
        ) from error
    config = LoraConfig(
        r=options.rank,
        lora_alpha=options.alpha,  # type: ignore[arg-type]  # peft multiplies by it; a fraction is as good
        lora_dropout=options.dropout,
        target_modules="all-linear" if options.layers is None else linear_names(last_layers(model, options.layers)),
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.manual_seed(options.seed)
        try:
            return get_peft_model(model, config, autocast_adapter_dtype=True)
        except ValueError as error:
            raise TrainingError(f"LoRA does not fit {type(model).__name__}: {error}; train with --backbone full") from error


def merge_lora(adapter: Any) -> None:
    """Add what the matrices give to the layers beside them, in place, and take them away."""
    adapter.merge_and_unload()
