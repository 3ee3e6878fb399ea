"""The short proof that equal bits hold for a loaded model."""

from typing import Any

import pytest
import torch

from headstart.errors import InvalidParameterError
from headstart.models.bit_check import BitCheck, bitwise_holds
from headstart.models.bitwise_probe import fitting_span
from tests.tiny_models import adapter, build, native

ROWS = 2 * 3 * (1 + 11)  # three prompts, alone and together: the prompt's last row and eleven verified tokens each


@pytest.mark.skipif(fitting_span() is None, reason="this processor's bfloat16 products do not keep their bits")
@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2"])
def test_bits_hold_in_bfloat16(family: str) -> None:
    model = native(build(family, dtype=torch.bfloat16), bitwise=True)
    assert bitwise_holds(model) == BitCheck(rows=ROWS, unequal=0)
    assert bitwise_holds(model).holds
    assert model.cache.rows == 0


@pytest.mark.parametrize("options", [{"dtype": torch.bfloat16}, {"dtype": torch.float32}])
def test_another_order_is_seen(options: dict[str, Any]) -> None:
    # the fast attention sums in an order that depends on the pass: some rows differ in bfloat16, and in float32 as well
    check = bitwise_holds(native(build("llama", **options)))
    assert check.rows == ROWS
    assert check.unequal > 20
    assert not check.holds


def test_the_adapter_is_compared_too() -> None:
    check = bitwise_holds(adapter(build("llama", dtype=torch.float32)))
    assert check.rows == ROWS
    assert 0 <= check.unequal <= ROWS


def test_a_small_cache_leaves_prompts_out() -> None:
    # 49 positions hold one prompt of 21 or less with 12 tokens and a tree of 16, not two
    model = native(build("llama", dtype=torch.float32), cache_tokens=49)
    assert bitwise_holds(model).rows == 2 * 12


def test_a_short_context_shortens_prompts() -> None:
    assert bitwise_holds(native(build("llama", dtype=torch.float32), max_context=32)).rows == ROWS


def test_nothing_is_checked_in_a_cache_in_use() -> None:
    model = native(build("llama", dtype=torch.float32))
    model.cache.add_row(4)
    with pytest.raises(InvalidParameterError, match="holds 1 rows"):
        bitwise_holds(model)
    assert model.cache.rows == 1


def test_no_room_for_anything() -> None:
    with pytest.raises(InvalidParameterError, match="no room for 29 positions"):
        bitwise_holds(native(build("llama", dtype=torch.float32), cache_tokens=20))
    assert not BitCheck(rows=0, unequal=0).holds  # nothing compared, nothing shown
