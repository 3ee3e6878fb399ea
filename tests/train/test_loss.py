from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from transformers import PreTrainedModel

from headstart.models.protocol import BaseModel
from headstart.models.transformers_adapter import TransformersModel
from headstart.train.loss import DECAY, loss_and_gradient
from headstart.train.output_matrix import OutputMatrix, shared_matrix
from headstart.train.teacher import Teacher
from tests.tiny_models import adapter, native, tiny

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


@pytest.mark.parametrize("extra", [None, torch.linspace(0, 2, V, dtype=torch.float64)])
def test_the_heads_logits_are_capped_as_they_are_when_drafting(
    case: tuple[torch.Tensor, torch.Tensor, torch.Tensor], extra: torch.Tensor | None
) -> None:
    """Autograd through ``2 tanh(logits / 2)``; what makes up for a sample of the vocabulary is added behind the cap."""
    states, labels, weight = case
    parts = loss_and_gradient(states, labels, OutputMatrix(weight, None, 2.0), None, extra)
    leaf = states.clone().requires_grad_()
    expected = reference(2 * (leaf @ weight.T / 2).tanh() + (0 if extra is None else extra), labels)
    expected.backward()
    assert parts.loss == pytest.approx(expected.item(), rel=1e-9)
    torch.testing.assert_close(parts.grad_KBD, leaf.grad)


@pytest.mark.parametrize("make", [adapter, native])
def test_the_matrix_of_a_soft_capped_model_has_its_logits(make: Callable[[PreTrainedModel], BaseModel]) -> None:
    """Gemma 2 with a cap of 9 and weights so large that the cap bends even a unit vector's logits."""
    model = make(tiny("gemma2"))
    ids = torch.tensor([3, 17, 50])
    matrix = shared_matrix(model, ids, torch.float64)
    hidden = 3 * torch.randn(5, model.facts.hidden_size, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    expected = model.lm_head(hidden)[:, ids]
    assert matrix.softcap == 9.0
    assert expected.abs().max() > 8.5  # well inside the bend
    torch.testing.assert_close(matrix.logits(hidden), expected, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(matrix.part(torch.tensor([2, 0])).logits(hidden), expected[:, [2, 0]], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("softcap", [None, 2.0])
def test_soft_targets_are_a_mixture_of_the_label_and_the_base_model(
    case: tuple[torch.Tensor, torch.Tensor, torch.Tensor], softcap: float | None
) -> None:
    """Autograd's cross-entropy with 0.3 of the base model's distribution and 0.7 of the label; the label alone without a state."""
    states, labels, weight = case
    generator = torch.Generator().manual_seed(2)
    deciding = torch.randn(K, B, D, generator=generator, dtype=torch.float64)
    known = torch.rand(K, B, generator=generator) < 0.8
    extra = torch.linspace(0, 2, V, dtype=torch.float64)
    matrix = OutputMatrix(weight, None, softcap)
    teacher = Teacher(matrix, deciding, known, 0.3)
    parts = loss_and_gradient(states, labels, matrix, None, extra, teacher)
    leaf = states.clone().requires_grad_()

    def capped(logits: torch.Tensor) -> torch.Tensor:
        return logits if softcap is None else softcap * (logits / softcap).tanh()

    soft = (capped(deciding @ weight.T) + extra).softmax(-1)
    share = 0.3 * known[..., None]
    target = share * soft + (1 - share) * F.one_hot(labels.clamp(min=0), V)
    nats = -(target * (capped(leaf @ weight.T) + extra).log_softmax(-1)).sum(-1)
    valid = labels >= 0
    per_head = (nats * valid).sum(-1) / valid.sum(-1)
    scale = torch.tensor([DECAY**k for k in range(K)], dtype=torch.float64)
    ((per_head * scale).sum() / scale.sum()).backward()
    torch.testing.assert_close(parts.grad_KBD, leaf.grad, rtol=1e-6, atol=1e-9)
    hard = loss_and_gradient(states, labels, matrix, None, extra)
    assert parts.loss_K == hard.loss_K  # what is reported stays the loss of the label, comparable between the two
