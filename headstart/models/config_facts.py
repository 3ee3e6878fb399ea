"""What a transformers config says about a model, in Headstart's terms."""

from collections.abc import Sequence
from typing import Any

from transformers import PreTrainedModel

from headstart.errors import UnsupportedModelError
from headstart.models.masks import Reach

# Kinds of layers, as configs name them, that keep nothing but keys and values per position.
_ATTENTION_KINDS = {"full_attention", "sliding_attention", "chunked_attention", "attention"}
_STRETCHED_PER_PASS = {"dynamic", "longrope"}


def refuse_unsupported(model: PreTrainedModel) -> None:
    """Raises UnsupportedModelError for what cannot be decoded with rollback, with the reason."""
    config, name = model.config.get_text_config(), type(model).__name__
    other = sorted(set(getattr(config, "layer_types", None) or ()) - _ATTENTION_KINDS)
    if getattr(model, "_is_stateful", False) or other:
        what = f"layers of kind {', '.join(other)}" if other else "recurrent state"
        raise UnsupportedModelError(
            f"{name} has {what}: such state is overwritten at every token and cannot be rolled back after a rejected guess, so its"
            " text could not be kept exact. Use a model whose layers are all attention"
        )
    if model.config.is_encoder_decoder:
        raise UnsupportedModelError(f"{name} is an encoder-decoder; Headstart decodes causal language models")
    if not model.can_generate():
        raise UnsupportedModelError(
            f"{name} does not generate text; load the model with its language-model head (AutoModelForCausalLM)"
        )


def context_length(config: Any, max_context: int | None) -> int:
    """How many positions the model can tell apart, or fewer where ``max_context`` says so.

    Rotary scalings that choose their frequencies from the longest position of a pass would let one row change another;
    they are held to the original length, where the frequencies are fixed.
    """
    names = ("max_position_embeddings", "n_positions", "max_seq_len")
    length = next((int(value) for name in names if (value := getattr(config, name, None))), 1 << 20)
    for kind, original in _stretched(config):
        original = original or length
        if max_context is not None and max_context > original:
            raise UnsupportedModelError(
                f"max_context={max_context}: beyond {original} positions this model's {kind} rotary scaling changes with the"
                f" longest text of a batch, so that neighbours would change each other's text. Use max_context={original} or less"
            )
        length = min(length, original)
    return length if max_context is None else min(length, max_context)


def _stretched(config: Any) -> list[tuple[str, int | None]]:
    """(kind, original length) of each rotary scaling that depends on the pass."""
    parameters = getattr(config, "rope_parameters", None) or {}
    found = []
    for one in [parameters, *(value for value in parameters.values() if isinstance(value, dict))]:
        kind = one.get("rope_type")
        if kind in _STRETCHED_PER_PASS:
            original = one.get("original_max_position_embeddings") or getattr(config, "original_max_position_embeddings", None)
            found.append((str(kind), None if original is None else int(original)))
    return found


def layer_reaches(config: Any) -> dict[str, Reach]:
    """How far back each kind of layer sees; more than one kind asks for a mapping of masks."""
    window = getattr(config, "sliding_window", None)
    kinds = list(dict.fromkeys(getattr(config, "layer_types", None) or ()))
    if not kinds:
        return {"sliding_attention": Reach(window=window)} if window else {"full_attention": Reach()}
    reaches = {}
    for kind in kinds:
        if kind == "sliding_attention":
            reaches[kind] = Reach(window=window)
        elif kind == "chunked_attention":
            reaches[kind] = Reach(chunk=config.attention_chunk_size)
        else:
            reaches[kind] = Reach()
    return reaches


def logit_scale(config: Any) -> tuple[float, float | None]:
    """Factor and soft-cap between the LM head's product and the logits."""
    text = config.get_text_config()
    scale = float(getattr(text, "logit_scale", None) or 1.0)
    divisor = getattr(text, "logits_scaling", None)
    softcap = getattr(text, "final_logit_softcapping", None)
    return scale / float(divisor) if divisor else scale, None if softcap is None else float(softcap)


def eos_ids(model: PreTrainedModel, extra: Sequence[int] = ()) -> tuple[int, ...]:
    """Ids that end a text: generation config, config and the tokenizer's (``extra``) together, sorted."""
    found = set(extra)
    for holder in (model.generation_config, model.config, model.config.get_text_config()):
        value = getattr(holder, "eos_token_id", None)
        found.update(value if isinstance(value, (list, tuple)) else [] if value is None else [value])
    return tuple(sorted(int(token) for token in found if token is not None))
