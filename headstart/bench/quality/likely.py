"""What the base model thinks of answers: how likely they are, and how often they go on as it would."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headstart.bench.bootstrap import Interval, ratio_difference_interval, ratio_interval
from headstart.bench.quality.answers import Answer
from headstart.bench.quality.proportions import wilson
from headstart.engine.likelihood import continuation_logprobs
from headstart.models.protocol import BaseModel

_MOST = 700.0
"""Nats a token: above, the exponential is no number any more."""


@dataclass(frozen=True)
class Opinion:
    """Of one answer, or of several together."""

    tokens: int
    nats: float
    """The negative log-likelihood, of the model's raw distribution (temperature 1, nothing filtered)."""
    firsts: int
    """Tokens that are the model's first choice after all that stands before them."""

    def __add__(self, other: "Opinion") -> "Opinion":
        return Opinion(self.tokens + other.tokens, self.nats + other.nats, self.firsts + other.firsts)


def opinions(model: BaseModel, answers: Sequence[Answer]) -> dict[Answer, Opinion]:
    """One pass over each text; equal ones are read once. The model has to be idle."""
    once = list(dict.fromkeys((answer.prompt, answer.ids) for answer in answers))
    found = {}
    for pair, tokens in zip(once, continuation_logprobs(model, once), strict=True):
        firsts = sum(token.top[0][0] == token.token_id for token in tokens)
        found[pair] = Opinion(len(tokens), -math.fsum(token.logprob for token in tokens), firsts)
    return {answer: found[answer.prompt, answer.ids] for answer in answers}


def perplexity(pairs: Sequence[tuple[Answer, Answer]], opinion: Mapping[Answer, Opinion]) -> dict[str, Any]:
    """Of the first of each pair: ``perplexity``, and ``of_base``, the ratio to that of the second ones, the base's own answers.

    Intervals are made by drawing questions, whose turns stay together, the same ones for both.
    """
    mine, base = _by_question(pairs, opinion)
    nats = [each.nats for each in mine], [each.tokens for each in mine]
    others = [each.nats for each in base], [each.tokens for each in base]
    return {
        "perplexity": _dict(_exponential(ratio_interval(*nats))),
        "of_base": _dict(_exponential(ratio_difference_interval(nats, others))),
        "tokens": sum(nats[1]),
    }


def agreement(pairs: Sequence[tuple[Answer, Answer]], opinion: Mapping[Answer, Opinion], *, same_draws: bool) -> dict[str, Any]:
    """``first_choice``: share of tokens that are the base's first choice at their place; ``more_than_base``: less that share in
    the base's own answers.

    ``identical``: share of answers that are the base's own; ``common``: share of the base's answers that are written before the
    texts part. Both None where answers are drawn by other noise (``same_draws`` False).
    """
    mine, base = _by_question(pairs, opinion)
    firsts = [each.firsts for each in mine], [each.tokens for each in mine]
    others = [each.firsts for each in base], [each.tokens for each in base]
    found: dict[str, Any] = {
        "first_choice": _dict(ratio_interval(*firsts)),
        "more_than_base": _dict(ratio_difference_interval(firsts, others)),
        "identical": None,
        "common": None,
    }
    if same_draws:
        found["identical"] = _dict(wilson(sum(one.ids == other.ids for one, other in pairs), len(pairs)))
        shares: dict[str, list[int]] = {}
        for one, other in pairs:
            common, whole = shares.setdefault(one.question, [0, 0])
            shares[one.question] = [common + _common(one.ids, other.ids), whole + len(other.ids)]
        found["common"] = _dict(ratio_interval([common for common, _ in shares.values()], [whole for _, whole in shares.values()]))
    return found


def _by_question(pairs: Sequence[tuple[Answer, Answer]], opinion: Mapping[Answer, Opinion]) -> tuple[list[Opinion], list[Opinion]]:
    """The turns of a question added up, of both sides."""
    sums: dict[str, tuple[Opinion, Opinion]] = {}
    for one, other in pairs:
        mine, base = sums.get(one.question, (Opinion(0, 0.0, 0), Opinion(0, 0.0, 0)))
        sums[one.question] = mine + opinion[one], base + opinion[other]
    return [mine for mine, _ in sums.values()], [base for _, base in sums.values()]


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    length = min(len(one), len(other))
    return next((i for i in range(length) if one[i] != other[i]), length)


def _exponential(interval: Interval | None) -> Interval | None:
    if interval is None:
        return None
    estimate, low, high = (math.exp(min(each, _MOST)) for each in (interval.estimate, interval.low, interval.high))
    return Interval(estimate, low, high, interval.n)


def _dict(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else interval.to_dict()
