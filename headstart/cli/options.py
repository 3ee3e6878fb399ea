"""Options that several commands share. The fields' docs are the help texts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

import headstart
from headstart.drafters.draft_options import DraftOptions
from headstart.errors import InvalidParameterError
from headstart.options import GenerationOptions

if TYPE_CHECKING:
    from headstart.llm import LLM


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How a model is loaded."""

    heads: str = "auto"
    """Heads to draft with: a directory or a hub id; "auto" takes the model's own where there are any, "none" goes without."""
    draft_model: str | None = None
    """A smaller model to draft with: a directory, a hub id or a GGUF file."""
    draft_text: bool = False
    """The draft model has another tokenizer: draft through text."""
    dtype: Literal["auto", "bfloat16", "float16", "float32", "float64"] = "auto"
    """Precision; "auto" is bfloat16 where the processor has it, else float32."""
    device: str = "auto"
    """Where to compute, "cpu" or "cuda" for instance; "auto" takes the fastest there is."""
    bitwise: Annotated[bool, Parameter(negative_bool="no-")] = True
    """In bfloat16 on a CPU, keep a token's logits the same bits in every tree and batch; without, attention is faster."""
    weights: Literal["int8", "int4"] | None = None
    """Round the native decoder's weights to 8 or 4 bits, on a CPU: faster, and another text than the model's own."""

    def load(self, model: str, *, drafter: str | None = None, threads: int | None = None) -> "LLM":
        """The model and its heads. torch is loaded here and not before, so that asking for help is quick."""
        heads = None if self.heads == "none" else self.heads
        return headstart.load(
            model,
            heads=heads,
            draft_model=self._draft,
            drafter=drafter or "auto",
            dtype=self.dtype,
            device=self.device,
            threads=threads,
            bitwise=self.bitwise,
            weights=self.weights,
        )

    @property
    def _draft(self) -> DraftOptions | None:
        if self.draft_model is None:
            if self.draft_text:
                raise InvalidParameterError("--draft-text was given without a draft model; name one with --draft-model")
            return None
        return DraftOptions(model=self.draft_model, text=self.draft_text)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WritingOptions(GenerationOptions):
    """How a text is written: the options of one generation, as a command line can give them."""

    max_new_tokens: int | None = 256
    """How many tokens to write at most; a text ends with the model's context in any case."""
    seed: int | None = None
    """The same seed writes the same text; by default a fresh one, which is reported."""
    stop: tuple[str, ...] = ()
    """End before this string; may be given several times."""
    stop_ids: tuple[int, ...] = ()
    """End at this token id, besides the model's own; may be given several times."""
    logit_bias: dict[str, float] | None = None
    """Added to the logits of a token id, as in --logit-bias.11 -2.5; may be given several times."""
    bad_words: tuple[str, ...] = ()
    """A word that must not be written; may be given several times."""
    allowed_token_ids: tuple[int, ...] | None = None
    """Write this token id and no others but those that are also given; may be given several times."""
    logits_processors: Annotated[tuple[()], Parameter(parse=False)] = ()
