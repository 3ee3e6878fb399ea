"""The most likely token, in every precision."""

import pytest
import torch

from headstart.sampling.likeliest import likeliest


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_the_largest_and_of_equal_ones_the_first(dtype: torch.dtype) -> None:
    logits = torch.tensor([[[1.0, 3.0, 3.0, -2.0], [float("-inf"), -7.0, -9.0, -7.0]]], dtype=dtype)
    assert likeliest(logits).tolist() == [[1, 1]]


def test_many_ties() -> None:
    """bfloat16 numbers of a large vocabulary are often equal: 200 rows against a search in Python."""
    logits = torch.randn(200, 5000, generator=torch.Generator().manual_seed(0)).round().bfloat16()
    assert likeliest(logits).tolist() == [row.index(max(row)) for row in logits.tolist()]
