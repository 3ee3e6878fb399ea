"""Options that several commands share. The fields' docs are the help texts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

import headstart
from headstart.options import GenerationOptions

if TYPE_CHECKING:
    from headstart.llm import LLM


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """How a model is loaded."""

    heads: str = "auto"
    """Heads to draft with: a directory or a hub id; "auto" takes the model's own where there are any, "none" goes without."""
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
            drafter=drafter or "auto",
            dtype=self.dtype,
            device=self.device,
            threads=threads,
            bitwise=self.bitwise,
            weights=self.weights,
        )


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class WritingOptions(GenerationOptions):
    """How a text is written: the options of one generation, as a command line can give them."""

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
