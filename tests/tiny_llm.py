"""An LLM on the model that goes on with the next letter of its alphabet, so that what it writes is known."""

from typing import Any

from headstart.llm import LLM
from tests.tiny_models import alphabet_heads, alphabet_model, letters_tokenizer, native


def tiny_llm(*, sharpness: float = 1.0, heads: bool = True, tokenizer: bool = True, **options: Any) -> LLM:
    model = native(alphabet_model(sharpness=sharpness), **options)
    return LLM(model, letters_tokenizer() if tokenizer else None, heads=alphabet_heads(model) if heads else None)


def busy(llm: LLM) -> bool:
    """Whether anything of any request is left."""
    return llm._engine.has_work or bool(llm._inbox) or llm.model.cache.rows > 0
