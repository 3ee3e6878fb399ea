"""Heads prepared for drafting compute what the heads themselves do."""

import pytest
import torch
import torch.nn.functional as F

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.packed_heads import PackedHeads

# B rows, K heads, D hidden, V vocabulary
B, K, D, V = 5, 3, 16, 40


@pytest.mark.parametrize("projection", ["shared", "own", "low-rank"])
@pytest.mark.parametrize("condition_on_root", [True, False])
def test_like_the_heads_in_float32(projection: str, condition_on_root: bool) -> None:
    """Of all heads, whichever share one projection and whichever add to it."""
    torch.manual_seed(0)
    options = {"projection": projection, "condition_on_root": condition_on_root}
    config = HeadsConfig(hidden_size=D, vocab_size=V, num_heads=K, **options)  # type: ignore[arg-type]
    heads = MedusaHeads(config)
    for parameter in heads.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    hidden_BD, root_BD, lm_head_VD = torch.randn(B, D), torch.randn(B, D), torch.randn(V, D)

    def shared(hidden: torch.Tensor) -> torch.Tensor:
        return F.linear(hidden, lm_head_VD)

    reads = config.reads_lm_head
    with torch.inference_mode():
        expected_KBV = heads(hidden_BD, root_BD, shared if reads else None)
        found_KBV = PackedHeads(heads, shared if reads else None)(hidden_BD, root_BD)
    assert found_KBV.shape == (K, B, V)
    torch.testing.assert_close(found_KBV, expected_KBV, rtol=1e-4, atol=1e-4)
