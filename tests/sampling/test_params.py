"""Ranges of the sampling parameters."""

import math
from typing import Any

import pytest

from headstart.errors import InvalidParameterError
from headstart.sampling.params import SamplingParams


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", math.nan),
        ("temperature", math.inf),
        ("top_k", 0),
        ("top_k", -1),
        ("top_p", 0.0),
        ("top_p", 1.01),
        ("top_p", math.nan),
        ("min_p", -0.1),
        ("min_p", 1.0),
        ("min_p", math.nan),
        ("typical_p", 0.0),
        ("typical_p", 1.1),
        ("repetition_penalty", 0.0),
        ("repetition_penalty", -1.0),
        ("repetition_penalty", math.inf),
        ("presence_penalty", 2.1),
        ("presence_penalty", math.nan),
        ("frequency_penalty", -2.1),
    ],
)
def test_values_out_of_range_are_named(name: str, value: float) -> None:
    with pytest.raises(InvalidParameterError, match=rf"{name} is {value}; expected"):
        SamplingParams(**{name: value})  # type: ignore[arg-type]


def test_the_ends_of_the_ranges_are_inside() -> None:
    SamplingParams(temperature=1e-300, top_k=1, top_p=1e-9, min_p=0.0)
    SamplingParams(temperature=100.0, top_k=10**9, top_p=1.0, min_p=0.999)
    SamplingParams(typical_p=1.0, repetition_penalty=1e-9, presence_penalty=-2, frequency_penalty=2.0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"logit_bias": {"3": 1.0}}, r"logit_bias names '3'; expected token ids"),
        ({"logit_bias": {3: -math.inf}}, "logit_bias of id 3 is -inf; expected a finite number; to forbid an id, .* bad_words"),
        ({"bad_words": [[1], []]}, "a bad word is empty; expected at least one id"),
        ({"bad_words": [1, 2]}, "bad_words holds 1; expected a list of token ids"),
        ({"bad_words": ["no"]}, "bad_words holds 'no'; expected a list of token ids"),
        ({"allowed_token_ids": []}, "allowed_token_ids is empty; expected at least one id, or None"),
        ({"allowed_token_ids": ["a"]}, r"allowed_token_ids holds \['a'\]; expected a list of token ids"),
        ({"logits_processors": [3]}, "3 in logits_processors is no function"),
    ],
)
def test_what_is_no_number_is_named_as_well(params: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        SamplingParams(**params)


def test_greedy_unless_asked_otherwise() -> None:
    assert SamplingParams().greedy
    assert not SamplingParams(temperature=0.01).greedy


def test_equal_parameters_are_one_group() -> None:
    """Rows are drawn together where their choice is equal, whatever was done to their logits before."""
    assert len({SamplingParams(temperature=0.5, top_k=3), SamplingParams(top_k=3, temperature=0.5)}) == 1
    plain, changed = SamplingParams(top_k=3), SamplingParams(top_k=3, logit_bias={1: 2.0}, bad_words=[[1]])
    assert plain.choice == changed.choice
    assert len({plain, changed}) == 2
    assert plain.choice != SamplingParams(top_k=3, typical_p=0.9).choice
