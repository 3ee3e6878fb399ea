"""What heads' states are multiplied by, and how what they learn of it finds its way back."""

import pytest
import torch
import torch.nn.functional as F

from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.errors import TrainingError
from headstart.train.loss import DECAY, loss_and_gradient
from headstart.train.output_matrix import OutputMatrix
from headstart.train.projections import Projections

# K heads, B examples, V draft vocabulary, D hidden
K, B, V, D = 3, 7, 20, 8


def made(projection: str) -> tuple[MedusaHeads, OutputMatrix]:
    torch.manual_seed(0)
    config = HeadsConfig(hidden_size=D, vocab_size=V, num_heads=K, projection=projection, projection_rank=3)  # type: ignore[arg-type]
    heads = MedusaHeads(config).double()
    for parameter in heads.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return heads, OutputMatrix(torch.randn(V, D).double(), torch.randn(V).double())


@pytest.mark.parametrize("projection", ["shared", "own", "low-rank"])
@pytest.mark.parametrize("part", [None, [1, 2, 3, 5, 8, 13, 19]])
def test_gradients_are_those_of_the_written_out_loss(projection: str, part: list[int] | None) -> None:
    """Cross-entropy over the part of the vocabulary, the LM head's bias in it where it has a part in the projection."""
    heads, lm_head = made(projection)
    index_S = None if part is None else torch.tensor(part)
    states_KBD, labels_KB = torch.randn(K, B, D).double(), torch.randint(0, len(part or range(V)), (K, B))
    projections = Projections(heads, lm_head, torch.float64)
    own_KSD = projections.learned_matrices(index_S)
    parts = loss_and_gradient(states_KBD, labels_KB, projections.shared(index_S), None if own_KSD is None else own_KSD.detach())
    if own_KSD is not None:
        own_KSD.backward(parts.grad_KVD)
    found = {name: p.grad.clone() for name, p in heads.named_parameters() if p.grad is not None}
    heads.zero_grad(set_to_none=True)

    leaf_KBD = states_KBD.clone().requires_grad_()
    whole_KVD = {
        "shared": lambda: lm_head.weight_VD.expand(K, V, D),
        "own": lambda: heads.own_projection,
        "low-rank": lambda: lm_head.weight_VD + heads.projection_out @ heads.projection_in,
    }[projection]()
    logits_KBV = leaf_KBD @ whole_KVD.transpose(1, 2)
    if projection != "own":
        assert lm_head.bias_V is not None
        logits_KBV = logits_KBV + lm_head.bias_V
    if index_S is not None:
        logits_KBV = logits_KBV[:, :, index_S]
    weights = [DECAY**k for k in range(K)]
    nats_K = [F.cross_entropy(logits_BV, labels_B) for logits_BV, labels_B in zip(logits_KBV, labels_KB, strict=True)]
    loss = torch.stack([weight * nats for weight, nats in zip(weights, nats_K, strict=True)]).sum() / sum(weights)
    loss.backward()
    assert parts.loss == pytest.approx(loss.item(), rel=1e-12)
    assert leaf_KBD.grad is not None
    torch.testing.assert_close(parts.grad_KBD, leaf_KBD.grad)
    expected = {name: p.grad for name, p in heads.named_parameters() if p.grad is not None}
    assert found.keys() == expected.keys()
    for name, grad in expected.items():
        torch.testing.assert_close(found[name].double(), grad, rtol=1e-5, atol=1e-7)  # sums over examples are kept in float32
    for k in range(K):
        torch.testing.assert_close(projections.matrix_of(k).weight_VD, whole_KVD[k].detach())


def test_capped_logits_cannot_be_added_to() -> None:
    heads, lm_head = made("low-rank")
    with pytest.raises(TrainingError, match="caps its logits"):
        Projections(heads, OutputMatrix(lm_head.weight_VD, None, 30.0), torch.float64)
    own, _ = made("own")
    assert Projections(own, OutputMatrix(lm_head.weight_VD, None, 30.0), torch.float64).shared() is None
