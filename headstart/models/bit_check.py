"""Whether equal bits hold for a loaded model here: a short proof, not a promise taken on trust."""

import random
from dataclasses import dataclass

from headstart.errors import InvalidParameterError
from headstart.models.bitwise_proof import unequal_rows
from headstart.models.protocol import BaseModel

_PROMPTS = (1, 21, 40)
_TOKENS = 12
_NODES = 16  # of the widest tree of the comparison


@dataclass(frozen=True)
class BitCheck:
    """The outcome of a comparison with plain decoding."""

    rows: int
    """Rows of logits compared: one for each verified token and for each prompt."""
    unequal: int
    """Those of them in which a bit differs."""

    @property
    def holds(self) -> bool:
        return self.rows > 0 and self.unequal == 0


def bitwise_holds(model: BaseModel) -> BitCheck:
    """Random trees, a prefill in chunks and a batch of three prompts against plain steps, on random tokens.

    It takes about a hundred passes. The model's cache has to be empty, and is so again. A short context or a small cache
    shortens the prompts or leaves some of them out.

    Raises:
        InvalidParameterError: the cache is in use, or there is no room for a prompt of one token and a tree.
    """
    if model.cache.rows:
        raise InvalidParameterError(f"the cache holds {model.cache.rows} rows; check bits before or after decoding, not meanwhile")
    vocab, context = model.facts.vocab_size, model.facts.context_length
    lengths = [min(length, max(1, context - _TOKENS - _NODES)) for length in _PROMPTS]
    while lengths and not model.cache.fits(len(lengths), max(lengths) + _TOKENS + _NODES):
        lengths.pop()
    if not lengths:
        raise InvalidParameterError(
            f"the cache has no room for {_PROMPTS[0] + _TOKENS + _NODES} positions; load the model with more cache_tokens"
        )
    draw = random.Random(0)
    prompts = [[draw.randrange(vocab) for _ in range(length)] for length in lengths]
    return BitCheck(*unequal_rows(model, prompts, _TOKENS, seed=0))
