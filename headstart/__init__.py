"""Headstart: language models that guess their own next tokens, check them in one pass, and write the same text sooner.

Names are imported when they are first used, so that ``import headstart`` loads neither torch nor transformers.
"""

import importlib
from typing import TYPE_CHECKING, Any

from headstart.version import __version__

if TYPE_CHECKING:
    from headstart.completion import Chunk, Completion, Stats
    from headstart.drafters.draft_options import DraftOptions
    from headstart.errors import (
        CapacityError,
        ChatTemplateError,
        DataError,
        DraftModelError,
        HeadsError,
        HeadstartError,
        InvalidParameterError,
        ModelNotFoundError,
        PromptError,
        TrainingError,
        TreeError,
        UnsupportedModelError,
    )
    from headstart.interop.custom_generate import custom_generate
    from headstart.llm import LLM, load
    from headstart.sampling.params import SamplingParams
    from headstart.trees.shape import TreeShape

_HOMES = {
    "headstart.llm": ("LLM", "load"),
    "headstart.interop.custom_generate": ("custom_generate",),
    "headstart.completion": ("Chunk", "Completion", "Stats"),
    "headstart.drafters.draft_options": ("DraftOptions",),
    "headstart.sampling.params": ("SamplingParams",),
    "headstart.trees.shape": ("TreeShape",),
    "headstart.errors": (
        "CapacityError",
        "ChatTemplateError",
        "DataError",
        "DraftModelError",
        "HeadsError",
        "HeadstartError",
        "InvalidParameterError",
        "ModelNotFoundError",
        "PromptError",
        "TrainingError",
        "TreeError",
        "UnsupportedModelError",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "LLM",
    "CapacityError",
    "ChatTemplateError",
    "Chunk",
    "Completion",
    "DataError",
    "DraftModelError",
    "DraftOptions",
    "HeadsError",
    "HeadstartError",
    "InvalidParameterError",
    "ModelNotFoundError",
    "PromptError",
    "SamplingParams",
    "Stats",
    "TrainingError",
    "TreeError",
    "TreeShape",
    "UnsupportedModelError",
    "__version__",
    "custom_generate",
    "load",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value  # the next look-up does not come here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
