"""What a time is valid for."""

from dataclasses import replace

import pytest
import torch

from headstart.errors import DataError
from headstart.models.compiled import CompiledModel
from headstart.models.conditions import Conditions
from headstart.models.processor import processor
from tests.tiny_models import adapter, native, tiny


def test_of_a_model() -> None:
    conditions = Conditions.of(native(tiny("llama"), bitwise=True))
    assert (conditions.model, conditions.implementation, conditions.dtype) == ("tiny", "native", "float64")
    assert (conditions.bitwise, conditions.weights, conditions.device) == (True, "", "cpu")
    assert (conditions.threads, conditions.torch) == (torch.get_num_threads(), torch.__version__)
    assert not Conditions.of(adapter(tiny("llama"))).bitwise
    assert conditions.processor == processor(torch.device("cpu"))


def test_compiled_passes_take_other_times() -> None:
    """Told apart before the first graph is made: whether a table of times holds here is asked before it is."""
    room = {"max_rows": 1, "cache_tokens": 400}
    assert Conditions.of(CompiledModel(native(tiny("llama")), **room)).implementation == "native, compiled"
    assert Conditions.of(CompiledModel(native(tiny("llama")), backend=None, **room)).implementation == "native"


def test_differences_are_named() -> None:
    here = Conditions.of(native(tiny("llama")))
    there = replace(here, dtype="bfloat16", threads=64)
    assert here.differences(here) == []
    assert here.differences(there) == ["dtype is float64, was bfloat16", f"threads is {here.threads}, was 64"]


def test_round_trip_and_what_is_refused() -> None:
    conditions = Conditions.of(native(tiny("llama")))
    data = conditions.to_dict()
    assert Conditions.from_dict(data) == conditions
    with pytest.raises(DataError, match="expected"):
        Conditions.from_dict({key: value for key, value in data.items() if key != "dtype"})
    with pytest.raises(DataError, match="threads is '2'"):
        Conditions.from_dict({**data, "threads": "2"})
