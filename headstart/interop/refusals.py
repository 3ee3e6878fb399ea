"""What ``generate`` can be asked for and Headstart does not do, refused by name."""

from collections.abc import Mapping
from typing import Any

from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel

from headstart.errors import InvalidParameterError, UnsupportedModelError
from headstart.interop.lost_arguments import CACHES

_ONE_TEXT = "Headstart writes one text a row, greedily or by sampling; leave it out, or leave custom_generate out"
_DRAFTS = "Headstart has its own drafters: custom_generate(drafter=..., draft_model=..., heads=...)"
_NEVER_KEPT = "a pass over a tree has none to give that a plain pass would have; output_scores and output_logits are there"

_REFUSED: dict[str, tuple[tuple[Any, ...], str]] = {
    "num_beams": ((None, 1), _ONE_TEXT),
    "num_beam_groups": ((None, 1), _ONE_TEXT),
    "constraints": ((None,), _ONE_TEXT),
    "force_words_ids": ((None,), _ONE_TEXT),
    "dola_layers": ((None,), _ONE_TEXT),
    "guidance_scale": ((None, 1), "it runs the model a second time at each token; leave it out"),
    "use_mtp": ((None, False), _DRAFTS),
    "prompt_lookup_num_tokens": ((None,), "the same is custom_generate(drafter='ngram')"),
    "assistant_early_exit": ((None,), _DRAFTS),
    "is_assistant": ((None, False), "a model that drafts for another one is draft_model= of custom_generate"),
    "output_attentions": ((None, False), _NEVER_KEPT),
    "output_hidden_states": ((None, False), _NEVER_KEPT),
    "cache_implementation": ((None,), "Headstart keeps its own cache, with room for trees; leave it out"),
}
"""By name of the generation setting: the values that ask for nothing, and what to do instead."""

_STATEFUL = ("SynthIDTextWatermarkLogitsProcessor", "UnbatchedClassifierFreeGuidanceLogitsProcessor")
_TAKEN = {"attention_mask", "position_ids", "logits_to_keep", "use_cache", *CACHES}
"""Arguments for the model's forward pass that are understood here; the caches are those that transformers makes itself."""


def refuse(
    model: PreTrainedModel,
    config: GenerationConfig,
    processors: LogitsProcessorList,
    lost: Mapping[str, Any],
    model_kwargs: Mapping[str, Any],
) -> None:
    """Raise for the first thing that cannot be done.

    Raises:
        InvalidParameterError: an argument, named in the message.
        UnsupportedModelError: an encoder-decoder model.
    """
    if getattr(model.config, "is_encoder_decoder", False):
        raise UnsupportedModelError(
            f"{type(model).__name__} is an encoder-decoder model; custom_generate takes decoder-only models"
        )
    for name in ("assistant_model", "assistant_tokenizer"):
        if lost.get(name) is not None:
            raise InvalidParameterError(f"{name} is not for custom_generate: {_DRAFTS}")
    for name, (neutral, instead) in _REFUSED.items():
        value = getattr(config, name, None)
        if value not in neutral:
            raise InvalidParameterError(f"{name}={value!r} is not for custom_generate: {instead}")
    mode = str(getattr(config.get_generation_mode(), "value", ""))
    if mode == "contrastive_search":
        raise InvalidParameterError(f"penalty_alpha={config.penalty_alpha!r} is not for custom_generate: {_ONE_TEXT}")
    if mode not in ("greedy_search", "sample"):
        raise InvalidParameterError(f"{mode} is not for custom_generate: {_ONE_TEXT}")
    for processor in processors:
        if type(processor).__name__ in _STATEFUL:
            raise InvalidParameterError(
                f"{type(processor).__name__} is not for custom_generate: it remembers its own calls, and a tree makes more of"
                " them; leave it out"
            )
    if lost.get("synced_gpus"):
        raise InvalidParameterError("synced_gpus=True is not for custom_generate: the passes of several processes would differ")
    for name in CACHES:
        if lost.get(name) is not None:
            raise InvalidParameterError(f"{name} is not for custom_generate: Headstart keeps its own cache; leave it out")
    foreign = sorted(name for name, value in model_kwargs.items() if value is not None and name not in _TAKEN)
    if foreign:
        raise InvalidParameterError(
            f"{', '.join(foreign)} is not for custom_generate, which takes input_ids and attention_mask alone; leave it out"
        )
