"""Calls of ``generate``, plain and with ``custom_generate``."""

from collections.abc import Sequence
from typing import Any

import torch
from transformers import PreTrainedModel

from headstart.interop.custom_generate import CustomGenerate
from tests.tiny_models import EOS, letter_ids

NEW = 14
PROMPTS = ([5, 9, 5, 9, 5], [7, 3, 11, 30, 31, 7, 3, 11, 30], [40], [12, 13, 14, 12])


def batch(prompts: Sequence[Sequence[int]]) -> dict[str, torch.Tensor]:
    """The prompts with padding (id 0) on their left."""
    longest = max(map(len, prompts))
    ids = torch.tensor([[0] * (longest - len(prompt)) + list(prompt) for prompt in prompts])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    return {"input_ids": ids, "attention_mask": mask}


def letters(*texts: str) -> dict[str, torch.Tensor]:
    return batch([letter_ids(text) for text in texts])


def both(model: PreTrainedModel, fast: CustomGenerate, inputs: dict[str, torch.Tensor], **options: Any) -> tuple[Any, Any]:
    """Plain ``generate`` and ours, of the same arguments."""
    settings = {"eos_token_id": EOS, "pad_token_id": 0, "do_sample": False, "max_new_tokens": NEW, **options}
    return model.generate(**inputs, **settings), model.generate(**inputs, custom_generate=fast, **settings)


def ours_alone(model: PreTrainedModel, fast: CustomGenerate, inputs: dict[str, torch.Tensor], **options: Any) -> Any:
    """Ours alone."""
    settings = {"eos_token_id": EOS, "pad_token_id": 0, "do_sample": False, "max_new_tokens": NEW, **options}
    return model.generate(**inputs, custom_generate=fast, **settings)
