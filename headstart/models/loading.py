"""From a name, a path or a loaded model to a :class:`BaseModel`. Picks the implementation."""

import logging
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, cast

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headstart.errors import InvalidParameterError, UnsupportedModelError
from headstart.models.bitwise_probe import fitting_span
from headstart.models.compiled import TREE_SLOTS, CompiledModel
from headstart.models.native import NativeModel, covers
from headstart.models.protocol import BaseModel
from headstart.models.self_check import check_tree_passes
from headstart.models.source import find, load_pretrained
from headstart.models.transformers_adapter import TransformersModel
from headstart.models.weights_format import weights_format

if TYPE_CHECKING:
    ModelLike = str | Path | PreTrainedModel

logger = logging.getLogger("headstart")

DEFAULT_ROWS = 64
DEFAULT_CACHE_TOKENS = 1 << 17
COMPILED_ROWS = 8  # of the whole context, where the caller does not bound the compiled decoder's cache: it is taken at once


def load_model(
    model: "ModelLike",
    *,
    dtype: str | torch.dtype = "auto",
    device: str | torch.device = "auto",
    max_context: int | None = None,
    max_rows: int | None = None,
    cache_tokens: int | None = None,
    bitwise: bool = True,
    weights: str | None = None,
    compile: bool | Literal["auto"] = "auto",
) -> tuple[BaseModel, PreTrainedTokenizerBase | None]:
    """The base model ready to decode, and its tokenizer where one was found.

    ``bitwise`` asks the native decoder to keep the bits of bfloat16 logits the same in every tree, batch and chunk.
    ``weights`` keeps the matrices of the native decoder in the format of that name (``weights_format.py``), on a CPU.
    ``compile`` runs it in passes of fixed shapes under ``torch.compile`` instead; "auto" is on CUDA only. Such a model has still to
    be warmed.

    Raises:
        ModelNotFoundError: nothing there, or what is there is broken.
        UnsupportedModelError: it cannot be decoded with rollback, or not with such weights.
        InvalidParameterError: no such format of weights, or none of that name here.
    """
    weights_format(weights)  # better now than after some minutes of loading
    pretrained, tokenizer, name = load_pretrained(find(model), dtype, device)
    limits: dict[str, Any] = {
        "name": name,
        "extra_eos_ids": _tokenizer_eos(tokenizer),
        "max_rows": max_rows or DEFAULT_ROWS,
        "cache_tokens": cache_tokens or DEFAULT_CACHE_TOKENS,
        "max_context": max_context,
    }
    base: BaseModel
    on_cpu = pretrained.device.type == "cpu"
    compiled = not on_cpu if compile == "auto" else compile
    # a model that the caller holds stays the one that computes: it may be changed later, or be one of a kind
    native = not isinstance(model, PreTrainedModel) and covers(pretrained, compiled=compiled)
    if compile is True and not native:
        logger.warning("compile=True is for the native decoder, which does not cover %s as it was given; not compiled", name)
    if weights is not None:
        _refuse_weights(weights, native=native, given=isinstance(model, PreTrainedModel), compiled=compiled, on_cpu=on_cpu)
    if native and compiled:
        decoder = NativeModel(pretrained, traceable=True, **limits)
        slots = decoder.facts.context_length + TREE_SLOTS
        room = cache_tokens or min(DEFAULT_CACHE_TOKENS, (max_rows or COMPILED_ROWS) * slots)
        base = CompiledModel(decoder, max_rows=limits["max_rows"], cache_tokens=room)
    elif native and on_cpu:
        bitwise = bitwise and next(pretrained.parameters()).dtype == torch.bfloat16
        if bitwise and fitting_span() is None:
            logger.warning(
                "this processor's bfloat16 products do not keep the order of sums that equal bits need: texts with and without"
                " guesses can differ where two tokens are nearly equally likely. dtype='float32' avoids it"
            )
        base = NativeModel(pretrained, bitwise=bitwise, weights=weights, **limits)
    else:
        base = TransformersModel(pretrained, **limits)
    # with rounded weights the logits are others, but a tree still has to be seen as its paths are
    check_tree_passes(base, pretrained if weights is None else cast(PreTrainedModel, _PathsAlone(base)))
    return base, tokenizer


def _refuse_weights(weights: str, *, native: bool, given: bool, compiled: bool, on_cpu: bool) -> None:
    if native and on_cpu and not compiled:
        return
    if not on_cpu:
        raise InvalidParameterError(f"weights={weights!r} is for CPUs; leave it out, or load with device='cpu'")
    if native:
        raise InvalidParameterError(f"weights={weights!r} cannot be compiled; leave out either weights or compile")
    if given:
        raise InvalidParameterError(
            f"weights={weights!r} is for the native decoder, and a model that was given loaded is used as it is;"
            " give its path or hub id instead, or leave weights out"
        )
    raise UnsupportedModelError(
        f"weights={weights!r} is for the native decoder, and it does not cover this model; leave weights out, or load a model"
        " that transformers itself has quantised"
    )


class _PathsAlone:
    """A model asked for a prompt's logits as transformers' models are."""

    def __init__(self, model: BaseModel) -> None:
        self._model = model

    def __call__(self, input_ids: torch.Tensor, use_cache: bool) -> SimpleNamespace:
        model, count = self._model, input_ids.shape[1]
        model.cache.add_row(count)
        try:
            return SimpleNamespace(logits=model.lm_head(model.prefill(input_ids, 0, [count])))
        finally:
            model.cache.clear()


def _tokenizer_eos(tokenizer: PreTrainedTokenizerBase | None) -> Sequence[int]:
    eos = None if tokenizer is None else tokenizer.eos_token_id
    return () if eos is None else (int(eos),)
