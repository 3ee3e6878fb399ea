"""The multi-token objective: its sum, its gradients, and what it holds in memory."""

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import LlamaForCausalLM

from headstart.train.mtp import objective
from headstart.train.mtp.headed_model import HeadedModel, headed
from headstart.train.mtp.new_model import new_model
from headstart.train.mtp.objective import Trunk, backward_by_heads
from headstart.train.mtp.options import MtpOptions

SMALL = MtpOptions(hidden_size=16, intermediate_size=32, attention_heads=2, kv_heads=1, layers=3, length=64)
VOCAB = 40


def small_model() -> LlamaForCausalLM:
    return new_model(SMALL, VOCAB, 0).double()


def ids(rows: int, count: int) -> torch.Tensor:
    return torch.randint(0, VOCAB, (rows, count), generator=torch.Generator().manual_seed(3))


def by_heads(model: HeadedModel, ids_BT: torch.Tensor, weights: list[float]) -> list[float | None]:
    trunk = model.trunk(ids_BT[:, : -len(weights)])
    return backward_by_heads(trunk, list(model.layers), model.unembed, VOCAB, ids_BT, weights)


def all_at_once(model: HeadedModel, ids_BT: torch.Tensor, weights: list[float]) -> list[torch.Tensor]:
    """The losses as they are defined, with one graph behind all of them."""
    length = ids_BT.shape[1] - len(weights)
    trunk = model.trunk(ids_BT[:, :length])
    # the leaf stands for the trunk's output; the chain rule through it is tried by the gradients below
    states = [trunk.first_BTD, *(layer(trunk.leaf_BTD) for layer in model.layers)]
    losses = [
        F.cross_entropy(model.unembed(state).flatten(0, 1), ids_BT[:, n + 1 : n + 1 + length].flatten())
        for n, state in enumerate(states)
    ]
    total = sum(weight * loss for weight, loss in zip(weights, losses, strict=True))
    (grad,) = torch.autograd.grad(total, trunk.leaf_BTD, retain_graph=True)
    total.backward()
    if trunk.output_BTD.requires_grad:
        trunk.output_BTD.backward(grad)
    return losses


def gradients(model: HeadedModel) -> dict[str, torch.Tensor]:
    named = [*model.model.named_parameters(), *(("heads." + name, p) for name, p in model.layers.named_parameters())]
    return {name: p.grad.clone() for name, p in named if p.grad is not None}


@pytest.mark.parametrize("slice_rows", [1000, 7])
@pytest.mark.parametrize("kind", ["layer", "residual", "linear"])
def test_head_by_head_is_the_sum_of_all(kind: str, slice_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """L = L_1 + ... + L_K: the same losses and the same gradients as one backward pass through everything, weights included."""
    monkeypatch.setattr(objective, "SLICE_LOGITS", slice_rows * VOCAB)
    weights = [1.0, 0.5, 1.0, 2.0]
    model, ids_BT = headed(small_model(), 3, kind), ids(3, 24)
    model.layers.double()
    with torch.no_grad():
        for p in model.layers.parameters():
            p.add_(torch.randn(p.shape, generator=torch.Generator().manual_seed(1), dtype=p.dtype) * 0.1)
    expected = all_at_once(model, ids_BT, weights)
    true = gradients(model)
    for p in (*model.model.parameters(), *model.layers.parameters()):
        p.grad = None
    losses = by_heads(model, ids_BT, weights)
    assert losses == pytest.approx([loss.item() for loss in expected], abs=1e-12)
    found = gradients(model)
    assert set(found) == set(true)
    for name, grad in true.items():
        assert torch.allclose(found[name], grad, atol=1e-6), name  # the slices' sums are rounded to float32 in the norms


def test_a_head_predicts_the_token_that_far_ahead() -> None:
    """Heads whose state is the target's own unit vector: head i's loss is the least only if its labels are the tokens at t + i."""
    ids_BT = torch.tensor([[5, 6, 7, 8, 9, 10, 11]])
    eye = torch.eye(VOCAB, dtype=torch.float64) * 50.0

    def ahead(n: int) -> Callable[[torch.Tensor], torch.Tensor]:
        return lambda leaf: eye[ids_BT[:, n : n + 4]] + 0.0 * leaf

    leaf = torch.zeros(1, 4, VOCAB, dtype=torch.float64, requires_grad=True)
    trunk = Trunk(torch.zeros(1, 4, VOCAB), leaf, ahead(1)(leaf))
    right = backward_by_heads(trunk, [ahead(2), ahead(3)], lambda states: states, VOCAB, ids_BT, [1.0, 1.0, 1.0])
    assert right == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    trunk = Trunk(torch.zeros(1, 4, VOCAB), leaf, ahead(1)(leaf))
    shifted = backward_by_heads(trunk, [ahead(1), ahead(3)], lambda states: states, VOCAB, ids_BT, [1.0, 1.0, 1.0])
    assert shifted == pytest.approx([0.0, 50.0, 0.0], abs=1e-12)  # the label's logit is 50 below the one that is guessed


def test_a_head_without_weight_is_not_run() -> None:
    model = headed(small_model(), 2, "layer")
    model.layers.double()
    losses = by_heads(model, ids(2, 20), [1.0, 0.0, 1.0])
    assert losses[1] is None
    assert all(p.grad is None for p in model.layers[0].parameters())
    assert all(p.grad is not None for p in model.layers[1].parameters())


class LiveBytes(TorchDispatchMode):
    """Bytes of all tensors that came to be while it is on and are still there, and the most that ever were; those in ``before``
    are not among them."""

    def __init__(self, before: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known = {tensor.untyped_storage()._cdata for tensor in before}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(out):
            if isinstance(tensor, torch.Tensor):
                self._count(tensor.untyped_storage())
        return out

    def _count(self, storage: torch.UntypedStorage) -> None:
        key = storage._cdata
        if key in self._known:
            return
        self._known.add(key)
        size = storage.nbytes()
        self.now += size
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self._gone, key, size)

    def _gone(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.now -= size


def peak_of_activations(heads: int, kind: str = "layer") -> int:
    """Beyond parameters and their gradients, which are there before."""
    options = MtpOptions(hidden_size=32, intermediate_size=96, attention_heads=2, kv_heads=2, layers=4, length=64)
    model = headed(new_model(options, 500, 0), heads - 1, kind)
    parameters = [*model.model.parameters(), *model.layers.parameters()]
    for p in parameters:
        p.grad = torch.zeros_like(p)
    ids_BT = torch.randint(0, 500, (4, 64 + heads), generator=torch.Generator().manual_seed(0))
    with LiveBytes([*parameters, *(p.grad for p in parameters if p.grad is not None)]) as live:
        trunk = model.trunk(ids_BT[:, :64])
        backward_by_heads(trunk, list(model.layers), model.unembed, 500, ids_BT, [1.0] * heads)
        del trunk
    return live.peak


def test_the_peak_does_not_grow_with_the_heads() -> None:
    one, four, eight = (peak_of_activations(heads) for heads in (1, 4, 8))
    assert one > 4 * 64 * 500 * 4  # a head's logits are in it: 4 texts of 64 positions, 500 tokens, 4 bytes
    assert four <= 1.25 * one
    assert eight <= 1.25 * one


def test_the_count_of_live_bytes_is_right() -> None:
    """Three tensors of 4,000 bytes, of which two live at a time; views count once."""
    with LiveBytes() as live:
        a = torch.ones(1000)
        b = (a + 1).view(10, 100)
        del a
        c = b * 2
        del b, c
    assert (live.peak, live.now) == (8000, 0)
