import pytest
import torch
import torch.nn.functional as F

from headstart.models.transformers_adapter import TransformersModel
from headstart.train.loss import DECAY, OutputMatrix, loss_and_gradient, shared_matrix

K, B, V, D = 3, 50, 40, 8


@pytest.fixture
def case() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    states = torch.randn(K, B, D, generator=generator, dtype=torch.float64)
    labels = torch.randint(-1, V, (K, B), generator=generator)
    return states, labels, torch.randn(V, D, generator=generator, dtype=torch.float64)


def reference(logits_KBV: torch.Tensor, labels_KB: torch.Tensor) -> torch.Tensor:
    """The same in torch's own words: mean over valid labels per head, then the weighted mean over heads."""
    per_head = torch.stack([F.cross_entropy(logits, labels, ignore_index=-1) for logits, labels in zip(logits_KBV, labels_KB)])
    weight = torch.tensor([DECAY**k for k in range(K)], dtype=torch.float64)
    return (per_head * weight).sum() / weight.sum()


@pytest.mark.parametrize("slice_logits", [V * 7, 1 << 24])
def test_loss_and_gradient_are_those_of_autograd(
    case: tuple[torch.Tensor, torch.Tensor, torch.Tensor], monkeypatch: pytest.MonkeyPatch, slice_logits: int
) -> None:
    monkeypatch.setattr("headstart.train.loss._SLICE_LOGITS", slice_logits)  # 7 rows a slice, or all at once
    states, labels, weight = case
    bias = torch.linspace(-1, 1, V, dtype=torch.float64)
    parts = loss_and_gradient(states, labels, OutputMatrix(weight, bias), None)
    leaf = states.clone().requires_grad_()
    expected = reference(leaf @ weight.T + bias, labels)
    expected.backward()
    assert parts.loss == pytest.approx(expected.item(), rel=1e-9)
    torch.testing.assert_close(parts.grad_KBD, leaf.grad)
    assert parts.grad_KVD is None


def test_own_projections_get_their_gradient(case: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    states, labels, weight = case
    own = torch.stack([weight, weight * 2, weight - 1]).requires_grad_()
    parts = loss_and_gradient(states, labels, None, own.detach())
    reference(torch.bmm(states, own.transpose(1, 2)), labels).backward()
    assert parts.grad_KVD is not None
    torch.testing.assert_close(parts.grad_KVD.double(), own.grad, rtol=1e-5, atol=1e-7)


def test_log_weights_are_added_to_the_logits(case: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    states, labels, weight = case
    extra = torch.linspace(0, 2, V)
    with_weights = loss_and_gradient(states, labels, OutputMatrix(weight, None), None, extra)
    as_bias = loss_and_gradient(states, labels, OutputMatrix(weight, extra.double()), None)
    assert with_weights.loss == as_bias.loss


def test_a_head_without_labels_has_no_part_in_the_loss(case: tuple[torch.Tensor, torch.Tensor, torch.Tensor]) -> None:
    states, labels, weight = case
    labels[2] = -1  # answers so short that nothing is that far ahead
    parts = loss_and_gradient(states, labels, OutputMatrix(weight, None), None)
    assert parts.loss_K[2] != parts.loss_K[2]
    assert parts.loss == parts.loss
    assert not parts.grad_KBD[2].any()


def test_the_matrix_read_through_the_projection_is_the_lm_head(model: TransformersModel) -> None:
    ids = torch.tensor([3, 17, 200])
    matrix = shared_matrix(model, ids, torch.float32)
    hidden = torch.randn(5, 32, generator=torch.Generator().manual_seed(0))
    assert matrix.bias_V is None
    torch.testing.assert_close(F.linear(hidden, matrix.weight_VD), model.lm_head(hidden)[:, ids], rtol=1e-5, atol=1e-5)
