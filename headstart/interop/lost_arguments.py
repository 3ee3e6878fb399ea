"""Arguments of ``generate`` that transformers takes away before it calls a ``custom_generate`` function.

``GenerationMixin._extract_generation_mode_kwargs`` keeps the tokenizer, the streamer and an assistant model for its own ways to
decode, and drops them where the way is a callable: the streamer is given the prompt and then nothing, not even its end, and stop
strings are refused for want of the tokenizer that was passed. But it asks for the callable's signature first, and in that moment
the arguments are still there to be taken. (So in transformers 5.17 to 5.24; where nothing is lost, nothing is found here.)
"""

import sys
from collections.abc import Callable
from typing import Any

_TAKES_THEM = "_extract_generation_mode_kwargs"
_DEPTH = 12  # frames between it and us: those of the inspect module
CACHES = ("past_key_values", "cache", "cache_params")


def hand_back(callee: Callable[..., Any]) -> None:
    """To be called while ``callee``'s signature is made: puts what is about to be lost back among the arguments.

    ``callee`` is then given ``tokenizer`` and ``lost``, a dict of whatever the caller passed of streamer, assistant_model,
    assistant_tokenizer, synced_gpus and of its own cache; it has to have parameters of these names.
    """
    frame = sys._getframe(1)
    for _ in range(_DEPTH):
        if frame.f_code.co_name == _TAKES_THEM:
            break
        if frame.f_back is None:
            return
        frame = frame.f_back
    else:
        return
    names = frame.f_locals
    taken, arguments = names.get("generation_mode_kwargs"), names.get("kwargs")
    if names.get("custom_generate") is not callee or not isinstance(taken, dict) or not isinstance(arguments, dict):
        return
    lost = {name: value for name, value in taken.items() if name != "tokenizer"}
    lost |= {name: arguments[name] for name in CACHES if arguments.get(name) is not None}
    arguments["lost"] = lost
    if "tokenizer" in taken:
        arguments["tokenizer"] = taken["tokenizer"]
