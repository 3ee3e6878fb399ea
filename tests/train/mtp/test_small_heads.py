"""Residual and linear heads, as they are trained and as Medusa heads that draft."""

import pytest
import torch

from headstart.errors import UnsupportedModelError
from headstart.train.mtp.new_model import new_model
from headstart.train.mtp.options import MtpOptions
from headstart.train.mtp.small_heads import SmallHeads
from tests.tiny_models import build

SMALL = MtpOptions(hidden_size=16, intermediate_size=32, attention_heads=2, kv_heads=1, layers=2, length=64)


@pytest.mark.parametrize("residual", [True, False])
def test_they_guess_what_they_were_trained_to_guess(residual: bool) -> None:
    model = new_model(SMALL, 40, 0).double()
    heads = SmallHeads(model, 2, residual=residual)
    heads.layers.double()
    with torch.no_grad():
        for p in heads.layers.parameters():
            p.copy_(torch.randn(p.shape, generator=torch.Generator().manual_seed(p.dim()), dtype=p.dtype))
        trunk = heads.trunk(torch.tensor([[3, 9, 21, 4]]))
        trained = torch.stack([heads.unembed(layer(trunk.leaf_BTD))[0] for layer in heads.layers])
        exported = heads.heads("tiny").double()
        drafted = exported(trunk.leaf_BTD[0], None, shared=model.lm_head)
    assert torch.allclose(drafted, trained, atol=1e-5)  # exported in float32


def test_linear_heads_want_logits_that_are_a_product() -> None:
    with pytest.raises(UnsupportedModelError, match=r"have a bias or a cap.*--head residual"):
        SmallHeads(build("gemma2"), 1, residual=False)
    SmallHeads(build("gemma2"), 1, residual=True)


def test_they_begin_as_the_models_own_head() -> None:
    model = new_model(SMALL, 40, 0)
    heads = SmallHeads(model, 1, residual=True)
    ids_BT = torch.tensor([[3, 9, 21, 4]])
    trunk = heads.trunk(ids_BT)
    assert torch.allclose(heads.unembed(heads.layers[0](trunk.leaf_BTD)), model(ids_BT).logits, atol=1e-6)
    assert torch.equal(trunk.first_BTD, trunk.leaf_BTD)
