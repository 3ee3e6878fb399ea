"""Loads a draft model beside the base model that it is to draft for."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from headstart.drafters.draft_model import DraftModelDrafter
from headstart.drafters.draft_options import DraftOptions
from headstart.drafters.protocol import Drafter
from headstart.drafters.same_tokens import check_same_tokens
from headstart.drafters.shared_text import SharedTextDrafter
from headstart.errors import DraftModelError
from headstart.models.compiled import CompiledModel
from headstart.models.loading import load_model
from headstart.models.protocol import BaseModel

_LEAST_CONTEXT = 16


@dataclass(frozen=True, kw_only=True)
class LoadedDraft:
    """A draft model with a cache of its own, checked against the base model."""

    model: BaseModel
    options: DraftOptions
    tokenizer: PreTrainedTokenizerBase | None = None
    base_tokenizer: PreTrainedTokenizerBase | None = None

    def drafter(self, base: BaseModel) -> Drafter:
        if not self.options.text:
            facts, options = base.facts, self.options
            return DraftModelDrafter(
                self.model, vocab_size=facts.vocab_size, confidence=options.confidence, branches=options.branches
            )
        assert self.tokenizer is not None, "checked when it was loaded"
        assert self.base_tokenizer is not None, "checked when it was loaded"
        return SharedTextDrafter(self.model, self.tokenizer, self.base_tokenizer, confidence=self.options.confidence)


def load_draft(
    draft: "str | Path | PreTrainedModel | DraftOptions | None",
    base: BaseModel,
    base_tokenizer: PreTrainedTokenizerBase | None,
    **limits: Any,
) -> LoadedDraft | None:
    """Load ``draft`` in the base model's precision, on its device; None stays None.

    ``limits`` are those of :func:`headstart.models.loading.load_model` that the base model was loaded with: ``max_rows``,
    ``cache_tokens``, ``compile``.

    Raises:
        ModelNotFoundError, UnsupportedModelError, InvalidParameterError: as for any model.
        DraftModelError: it has another tokenizer; with ``text``, one of the two has none; its context is too short to draft in.
    """
    if draft is None:
        return None
    options = draft if isinstance(draft, DraftOptions) else DraftOptions(model=draft)
    given = isinstance(options.model, PreTrainedModel)
    model, tokenizer = load_model(
        options.model,
        dtype="auto" if given else base.facts.dtype,
        device="auto" if given else base.facts.device,
        bitwise=False,  # a guess is a guess
        weights=options.weights,
        **limits,
    )
    if model.facts.context_length < _LEAST_CONTEXT:
        facts = model.facts
        raise DraftModelError(
            f"{facts.name} has a context of {facts.context_length} positions; expected at least {_LEAST_CONTEXT} to draft in"
        )
    if not options.text:
        check_same_tokens(base.facts, base_tokenizer, model.facts, tokenizer)
    elif tokenizer is None or base_tokenizer is None:
        lacking = model.facts.name if tokenizer is None else base.facts.name
        raise DraftModelError(f"drafting through text needs two tokenizers, and {lacking} came without one; leave out text")
    if isinstance(model, CompiledModel):
        model.warm(nodes={1, 2, 4, 8})
    return LoadedDraft(model=model, options=options, tokenizer=tokenizer, base_tokenizer=base_tokenizer)
