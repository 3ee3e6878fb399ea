"""From a name, a path or a loaded model to a :class:`BaseModel`. Picks the implementation."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headstart.models.bitwise_probe import fitting_span
from headstart.models.native import NativeModel, covers
from headstart.models.protocol import BaseModel
from headstart.models.self_check import check_tree_passes
from headstart.models.source import find, load_pretrained
from headstart.models.transformers_adapter import TransformersModel

if TYPE_CHECKING:
    ModelLike = str | Path | PreTrainedModel

logger = logging.getLogger("headstart")

DEFAULT_ROWS = 64
DEFAULT_CACHE_TOKENS = 1 << 17


def load_model(
    model: "ModelLike",
    *,
    dtype: str | torch.dtype = "auto",
    device: str | torch.device = "auto",
    max_context: int | None = None,
    max_rows: int | None = None,
    cache_tokens: int | None = None,
    bitwise: bool = True,
) -> tuple[BaseModel, PreTrainedTokenizerBase | None]:
    """The base model ready to decode, and its tokenizer where one was found.

    ``bitwise`` asks the native decoder to keep the bits of bfloat16 logits the same in every tree, batch and chunk.

    Raises:
        ModelNotFoundError: nothing there, or what is there is broken.
        UnsupportedModelError: it cannot be decoded with rollback.
    """
    pretrained, tokenizer, name = load_pretrained(find(model), dtype, device)
    limits: dict[str, Any] = {
        "name": name,
        "extra_eos_ids": _tokenizer_eos(tokenizer),
        "max_rows": max_rows or DEFAULT_ROWS,
        "cache_tokens": cache_tokens or DEFAULT_CACHE_TOKENS,
        "max_context": max_context,
    }
    base: BaseModel
    # a model that the caller holds stays the one that computes: it may be changed later, or be one of a kind
    if not isinstance(model, PreTrainedModel) and covers(pretrained):
        bitwise = bitwise and next(pretrained.parameters()).dtype == torch.bfloat16
        if bitwise and fitting_span() is None:
            logger.warning(
                "this processor's bfloat16 products do not keep the order of sums that equal bits need: texts with and without"
                " guesses can differ where two tokens are nearly equally likely. dtype='float32' avoids it"
            )
        base = NativeModel(pretrained, bitwise=bitwise, **limits)
    else:
        base = TransformersModel(pretrained, **limits)
    check_tree_passes(base, pretrained)
    return base, tokenizer


def _tokenizer_eos(tokenizer: PreTrainedTokenizerBase | None) -> Sequence[int]:
    eos = None if tokenizer is None else tokenizer.eos_token_id
    return () if eos is None else (int(eos),)
