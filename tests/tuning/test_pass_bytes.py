"""Bytes that a pass reads."""

from typing import Any

import pytest
import torch

from headstart.tuning.pass_bytes import PassBytes, pass_bytes
from tests.tiny_models import adapter, build, native

SMALL = 1024  # rows of the embedding and of the rotary tables, constants, norms that the native decoder keeps in float32


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("family", ["llama", "gemma2", "qwen3"])
@pytest.mark.parametrize(("make", "options"), [(native, {"bitwise": True}), (native, {"bitwise": False}), (adapter, {})])
def test_all_weights_but_the_embeddings(make: Any, options: dict[str, Any], family: str, dtype: torch.dtype) -> None:
    pretrained = build(family, dtype=dtype)
    weights = sum(p.numel() * p.element_size() for name, p in pretrained.named_parameters() if "embed_tokens" not in name)
    model = make(pretrained, **options)
    counted = pass_bytes(model)
    assert 0 < counted.weights - weights < SMALL
    # two layers, keys and values, two heads of eight numbers
    assert counted.cache_per_position == 2 * 2 * 2 * 8 * dtype.itemsize
    assert model.cache.rows == 0


def test_a_tied_head_is_read_whole() -> None:
    pretrained = build("llama", tie_word_embeddings=True)
    weights = sum(p.numel() * p.element_size() for p in pretrained.parameters())  # each once
    assert 0 < pass_bytes(adapter(pretrained)).weights - weights < SMALL


def test_a_cache_that_was_used_before_counts_the_same() -> None:
    model = native(build("llama"))
    model.cache.add_row(300)
    model.cache.add_row(10)
    model.cache.clear()
    assert pass_bytes(model).cache_per_position == 2 * 2 * 2 * 8 * 8


def test_total() -> None:
    assert PassBytes(weights=1000, cache_per_position=10).total(7) == 1070
