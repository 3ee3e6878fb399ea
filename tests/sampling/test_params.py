"""Ranges of the sampling parameters."""

import math

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
    ],
)
def test_values_out_of_range_are_named(name: str, value: float) -> None:
    with pytest.raises(InvalidParameterError, match=rf"{name} is {value}; expected"):
        SamplingParams(**{name: value})  # type: ignore[arg-type]


def test_the_ends_of_the_ranges_are_inside() -> None:
    SamplingParams(temperature=1e-300, top_k=1, top_p=1e-9, min_p=0.0)
    SamplingParams(temperature=100.0, top_k=10**9, top_p=1.0, min_p=0.999)


def test_greedy_unless_asked_otherwise() -> None:
    assert SamplingParams().greedy
    assert not SamplingParams(temperature=0.01).greedy


def test_equal_parameters_are_one_group() -> None:
    """Rows are grouped by their parameters, so these must be one key."""
    assert len({SamplingParams(temperature=0.5, top_k=3), SamplingParams(top_k=3, temperature=0.5)}) == 1
