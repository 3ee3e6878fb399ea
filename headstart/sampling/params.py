"""How the next token is chosen from the base model's logits."""

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from headstart.errors import InvalidParameterError
from headstart.sampling.kinds import check_list, check_number, check_whole, is_whole

# tensors are not named here: a command's options are made of these parameters, and asking for help loads no torch
LogitsProcessor = Callable[[Any, Any], Any]
"""Of transformers: takes ids (1 x T, the prompt and all that follows) and scores (1 x V); returns scores (1 x V)."""

_NUMBERS = ("temperature", "top_p", "min_p", "typical_p", "repetition_penalty", "presence_penalty", "frequency_penalty")


@dataclass(frozen=True, kw_only=True)
class SamplingParams:
    """Parameters of the token rule, applied in this order, each with what precedes the token on its own path of the tree.

    First what changes logits, at every temperature: logit bias, repetition, presence and frequency penalties, bad words, allowed
    ids, the caller's own processors. Then what chooses among tokens, above temperature 0 only: temperature, top-k, top-p, min-p,
    typical-p.

    Raises:
        InvalidParameterError: a value is outside its range.
    """

    temperature: float = 0.0
    """0 takes the most likely token; above 0 samples, 1 being the model's own distribution."""
    top_k: int | None = None
    """Keep the k most likely tokens; None keeps all."""
    top_p: float = 1.0
    """Keep the smallest set of tokens whose probability reaches this; in (0, 1]."""
    min_p: float = 0.0
    """Drop tokens less likely than this share of the most likely one; in [0, 1)."""
    typical_p: float = 1.0
    """Keep the tokens whose surprise is nearest to the entropy, until their probability reaches this; in (0, 1]. (Meister et al.
    2023, Locally Typical Sampling.) No relation of the acceptance rule "typical"."""
    repetition_penalty: float = 1.0
    """Divide positive logits of every id in the prompt or the output by this, and multiply negative ones; above 0, 1 is none.
    (Keskar et al. 2019, CTRL.)"""
    presence_penalty: float = 0.0
    """Subtract this from the logits of every id that is in the output; in [-2, 2]."""
    frequency_penalty: float = 0.0
    """Subtract this from the logits of every id once for each time that it is in the output; in [-2, 2]."""
    logit_bias: Mapping[int, float] = field(default_factory=dict, hash=False)
    """What to add to the logits of single ids; finite numbers."""
    bad_words: Sequence[Sequence[int]] = ()
    """Sequences of ids that must not come to stand in the text; what precedes the last id may lie in the prompt."""
    allowed_token_ids: Sequence[int] | None = None
    """The only ids that may be written; without an id that ends the text it goes on to its full length. None allows all."""
    logits_processors: Sequence[LogitsProcessor] = field(default=(), hash=False)
    """Called as ``processor(ids_1T, scores_1V)`` on copies, in order, after all other changes of logits. They should depend on
    their arguments alone: rows of a batch share them."""

    def __post_init__(self) -> None:
        self._check_kinds()
        for name in ("bad_words", "logits_processors"):
            object.__setattr__(self, name, tuple(getattr(self, name) or ()))
        object.__setattr__(self, "bad_words", tuple(_ids("bad_words", word) for word in self.bad_words))
        object.__setattr__(self, "logit_bias", dict(self.logit_bias or {}))
        if self.allowed_token_ids is not None:
            allowed = _ids("allowed_token_ids", self.allowed_token_ids)
            object.__setattr__(self, "allowed_token_ids", tuple(sorted(set(allowed))))
        self._check_choice()
        self._check_changes()

    def _check_kinds(self) -> None:
        for name in _NUMBERS:
            check_number(name, getattr(self, name))
        if self.top_k is not None:
            check_whole("top_k", self.top_k, expected="None (all tokens) or a whole number")
        if not isinstance(self.logit_bias or {}, Mapping):
            raise InvalidParameterError(f"logit_bias is {self.logit_bias!r}; expected numbers by token id, such as {{11: -2.5}}")
        for token, bias in (self.logit_bias or {}).items():
            if not is_whole(token):
                raise InvalidParameterError(f"logit_bias names {token!r}; expected token ids (whole numbers)")
            check_number(f"logit_bias of id {token}", bias)
        for name in ("bad_words", "logits_processors"):
            check_list(name, getattr(self, name) or (), object, expected="a list")

    def _check_choice(self) -> None:
        if not math.isfinite(self.temperature) or self.temperature < 0:
            raise InvalidParameterError(f"temperature is {self.temperature}; expected 0 (greedy) or a number above 0")
        if self.top_k is not None and self.top_k < 1:
            raise InvalidParameterError(f"top_k is {self.top_k}; expected None (all tokens) or at least 1")
        for name in ("top_p", "typical_p"):
            if not 0 < getattr(self, name) <= 1:
                raise InvalidParameterError(f"{name} is {getattr(self, name)}; expected a number in (0, 1]; 1 keeps every token")
        if not 0 <= self.min_p < 1:
            raise InvalidParameterError(f"min_p is {self.min_p}; expected a number in [0, 1); 0 keeps every token")

    def _check_changes(self) -> None:
        if not (math.isfinite(self.repetition_penalty) and self.repetition_penalty > 0):
            raise InvalidParameterError(
                f"repetition_penalty is {self.repetition_penalty}; expected a number above 0; 1 is none, above 1 penalises"
            )
        for name in ("presence_penalty", "frequency_penalty"):
            if not -2 <= getattr(self, name) <= 2:
                raise InvalidParameterError(f"{name} is {getattr(self, name)}; expected a number in [-2, 2]; 0 is none")
        for token, bias in self.logit_bias.items():
            if not math.isfinite(bias):
                raise InvalidParameterError(
                    f"logit_bias of id {token} is {bias}; expected a finite number; to forbid an id, name it in bad_words"
                )
        if not all(self.bad_words):
            raise InvalidParameterError("a bad word is empty; expected at least one id. Leave it out")
        if self.allowed_token_ids is not None and not self.allowed_token_ids:
            raise InvalidParameterError("allowed_token_ids is empty; expected at least one id, or None, which allows all")
        for processor in self.logits_processors:
            if not callable(processor):
                raise InvalidParameterError(f"{processor!r} in logits_processors is no function of (input_ids, scores)")

    @property
    def greedy(self) -> bool:
        return self.temperature == 0

    @property
    def choice(self) -> Hashable:
        """What decides among tokens once their logits are what they are: rows in which this is equal are drawn together."""
        return (self.temperature, self.top_k, self.top_p, self.min_p, self.typical_p)

    @property
    def filters(self) -> bool:
        """Whether top-k, top-p, min-p or typical-p drop tokens."""
        return self.top_k is not None or self.top_p < 1 or self.min_p > 0 or self.typical_p < 1


def _ids(name: str, ids: Sequence[int]) -> tuple[int, ...]:
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable) or not all(is_whole(token) for token in ids):
        raise InvalidParameterError(f"{name} holds {ids!r}; expected a list of token ids")
    return tuple(ids)
