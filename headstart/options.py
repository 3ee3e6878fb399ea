"""What a caller may ask of one generation; the keyword arguments of ``LLM.generate``, ``chat`` and ``stream``."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from typing import Any

from headstart.errors import InvalidParameterError
from headstart.ranges import check_least
from headstart.sampling.kinds import check_choice, check_list, check_number, check_whole, is_whole
from headstart.sampling.params import LogitsProcessor, SamplingParams


@dataclass(frozen=True, kw_only=True)
class GenerationOptions:
    """Greedy unless asked otherwise.

    Raises:
        InvalidParameterError: a value is outside its range.
    """

    max_new_tokens: int | None = 256
    """How many tokens to write at most; None goes on to the end of the context."""
    min_new_tokens: int = 0
    """Do not stop before so many tokens."""
    temperature: float = 0.0
    """0 takes the most likely token; above 0 samples, 1 being the model's own distribution."""
    top_k: int | None = None
    """Sample from the k most likely tokens."""
    top_p: float = 1.0
    """Sample from the smallest set of tokens whose probability reaches this."""
    min_p: float = 0.0
    """Leave out tokens less likely than this share of the most likely one."""
    typical_p: float = 1.0
    """Sample from the tokens whose surprise is nearest to what the model expects, up to this probability in all."""
    repetition_penalty: float = 1.0
    """Above 1 makes tokens of the prompt and the output less likely."""
    presence_penalty: float = 0.0
    """Subtracted from the logits of tokens that are in the output; -2 to 2."""
    frequency_penalty: float = 0.0
    """Subtracted from the logits of tokens once for each time that they are in the output; -2 to 2."""
    logit_bias: Mapping[int, float] | Mapping[str, float] | None = None
    """Added to the logits of single token ids. (An id may be a string, as JSON has it.)"""
    bad_words: str | Sequence[str | Sequence[int]] | None = ()
    """Words, or sequences of token ids, that must not be written."""
    allowed_token_ids: Sequence[int] | None = None
    """The only token ids that may be written; name one that ends the text as well."""
    logits_processors: Sequence[LogitsProcessor] = ()
    """Processors of transformers, or functions ``f(input_ids, scores)`` like them: they change logits after all of the above."""
    acceptance: str = "exact"
    """"exact" never changes the text. Above temperature 0 that of the others depends on drafter, tree and budget, so that a seed
    repeats it only where these are the same: "rejection" is exact in distribution; "typical" and "threshold" are LOSSY."""
    epsilon: float | None = None
    """For "typical": the probability that is enough for a guess anywhere; 0.09 unless given."""
    delta: float | None = None
    """For "typical": where the model's entropy is H, a guess needs only delta * exp(-H); 0.3 unless given."""
    threshold: float | None = None
    """For "threshold": the probability that is enough for a guess; 0.09 unless given."""
    replacement: bool = False
    """For "rejection": draw the guesses for one place with replacement, so that one may come twice."""
    draft_temperature: float | None = None
    """Draw guesses at random from the drafter's own distribution, at this temperature, instead of taking the likeliest; the drafter
    has to be one that can. With "rejection", which needs that, the temperature of the text unless given."""
    logprobs: bool = False
    """Report each token's log-probability under the model itself, before penalties, temperature and filters."""
    top_logprobs: int = 0
    """Report the log-probabilities of so many of the most likely tokens at each place as well."""
    seed: int | Sequence[int] | None = None
    """The same seed writes the same text; None draws a fresh one, which the result records. A list gives one per prompt."""
    stop: str | Sequence[str] | None = ()
    """Strings that end the text; the text is cut before them."""
    stop_ids: Sequence[int] | None = ()
    """Token ids that end the text besides the model's own end-of-text ids."""
    ignore_eos: bool = False
    """Go on past the model's own end-of-text ids."""
    drafter: str | None = None
    """"combined", "medusa", "medusa-static", "hydra", "hydra-static", "mtp", "mtp-static", "draft-model", "ngram" or "none"
    (plain); unless given, the one that the model was loaded with: if none was named, the draft model where there is one, else
    "combined" or "mtp" with heads, "ngram" without. Exact acceptance never lets it change the text."""
    nodes: int | None = None
    """How many tree nodes a pass may hold, the root included."""
    threads: int | None = None
    """CPU threads for this call."""
    max_context: int | None = None
    """A context length below the model's."""
    max_rows: int | None = None
    """How many prompts of this call may be decoded at once."""
    cache_tokens: int | None = None
    """How many cache positions the prompts of this call may hold at once."""

    def __post_init__(self) -> None:
        self._check_kinds()
        for name in ("max_new_tokens", "nodes", "threads", "max_context", "max_rows", "cache_tokens"):
            value = getattr(self, name)
            if value is not None:
                check_whole(name, value)
                check_least(self, 1, name)
        _ = self.sampling  # raises for what is out of range, before a model is loaded
        check_least(self, 0, "min_new_tokens", "top_logprobs")
        if any(not string for string in self.stop_strings):
            raise InvalidParameterError("a stop string is empty; it would end every text at once. Leave it out")

    def _check_kinds(self) -> None:
        for name in ("min_new_tokens", "top_logprobs"):
            check_whole(name, getattr(self, name))
        for name in ("logprobs", "ignore_eos", "replacement"):
            check_choice(name, getattr(self, name))
        for name in ("epsilon", "delta", "threshold", "draft_temperature"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name))
        if not isinstance(self.stop, str):
            check_list("stop", self.stop or (), str, expected="a string or a list of strings")
        check_list("stop_ids", self.stop_ids or (), Integral, expected="a list of token ids")
        if isinstance(self.seed, Iterable):
            check_list("seed", self.seed, Integral, expected="a whole number, a list of them, or None")
        elif self.seed is not None:
            check_whole("seed", self.seed, expected="a whole number, a list of them, or None")
        if not isinstance(self.bad_words, str):
            check_list(
                "bad_words", self.bad_words or (), (str, Iterable), expected="a word, or a list of words and of lists of ids"
            )
        if not isinstance(self.logit_bias or {}, Mapping):
            raise InvalidParameterError(f"logit_bias is {self.logit_bias!r}; expected numbers by token id, such as {{11: -2.5}}")
        if not isinstance(self.acceptance, str):
            raise InvalidParameterError(f"acceptance is {self.acceptance!r}; expected a rule's name, for instance 'exact'")
        if self.drafter is not None and not isinstance(self.drafter, str):
            raise InvalidParameterError(f"drafter is {self.drafter!r}; expected a drafter's name, for instance 'ngram', or None")

    @classmethod
    def of(cls, options: dict[str, Any]) -> "GenerationOptions":
        """Raises InvalidParameterError for a name that is no option: nothing is silently ignored."""
        known = [f.name for f in fields(cls)]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise InvalidParameterError(f"unknown options {unknown}; expected some of {known}")
        return cls(**options)

    @property
    def sampling(self) -> SamplingParams:
        """All but ``bad_words``, which need a tokenizer."""
        return SamplingParams(
            temperature=self.temperature,
            top_k=self.top_k,
            top_p=self.top_p,
            min_p=self.min_p,
            typical_p=self.typical_p,
            repetition_penalty=self.repetition_penalty,
            presence_penalty=self.presence_penalty,
            frequency_penalty=self.frequency_penalty,
            logit_bias={_id(token): bias for token, bias in (self.logit_bias or {}).items()},
            allowed_token_ids=self.allowed_token_ids,
            logits_processors=self.logits_processors,
        )

    @property
    def acceptance_options(self) -> dict[str, float]:
        """The parameters of the rule of acceptance that were given."""
        replacement = self.replacement or None
        given = {"epsilon": self.epsilon, "delta": self.delta, "threshold": self.threshold, "replacement": replacement}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def stop_strings(self) -> tuple[str, ...]:
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())


def _id(token: int | str) -> int:
    if not is_whole(token) and not (isinstance(token, str) and token.isdecimal()):
        raise InvalidParameterError(f"logit_bias names {token!r}; expected token ids (whole numbers)")
    return int(token)
