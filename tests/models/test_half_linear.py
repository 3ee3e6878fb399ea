"""float32 products with weights kept in 16 bits: nothing is lost, and what would lose something is refused."""

import pytest
import torch

from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.models.half_linear import HalfLinear, half_fault, lossless_shift
from headstart.models.packed_linear import PackedLinear
from headstart.models.weights_format import own_format
from headstart.request import Request
from headstart.trees.shape import TreeShape
from headstart.tuning.pass_bytes import pass_bytes
from tests.decoding import ScriptedDrafter, texts
from tests.tiny_models import VOCAB, build, generated, native

needs_half = pytest.mark.skipif(half_fault() is not None, reason=f"no products with 16-bit weights here: {half_fault()}")


def weight(rows: int = 200, columns: int = 576, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return (torch.randn(rows, columns, generator=torch.Generator().manual_seed(0)) / 30).to(dtype).float()


def inputs(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def shifted(weight_OI: torch.Tensor, bias_O: torch.Tensor | None = None) -> HalfLinear:
    shift = lossless_shift(weight_OI)
    assert shift is not None
    return HalfLinear(weight_OI, bias_O, shift)


@needs_half
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("rows", [1, 2, 6, 7, 33])
def test_it_is_as_exact_as_float32(dtype: torch.dtype, rows: int) -> None:
    weight_OI, x_MI = weight(dtype=dtype), inputs(rows, 576)
    true_MO = x_MI.double() @ weight_OI.double().T
    ours = (shifted(weight_OI)(x_MI) - true_MO).norm() / true_MO.norm()
    assert ours < 1e-6  # a product in 16 bits is 1e-3 away


@needs_half
def test_each_weight_comes_back_whole() -> None:
    weight_OI = weight()
    assert float(weight_OI.abs().min()) < 2.0**-14  # unshifted, FBGEMM takes such a number for 0
    assert torch.equal(shifted(weight_OI)(torch.eye(576)), weight_OI.T)


@needs_half
def test_a_bias_and_any_leading_shape() -> None:
    weight_OI, bias_O, x = weight(), torch.arange(200.0), inputs(2, 3, 576)
    out = shifted(weight_OI, bias_O)(x)
    assert out.shape == (2, 3, 200)
    torch.testing.assert_close(out, x @ weight_OI.T + bias_O, rtol=1e-5, atol=1e-5)


@needs_half
@pytest.mark.parametrize("factor", [2.0**40, 2.0**-40])
def test_very_large_and_very_small_matrices(factor: float) -> None:
    weight_OI = weight() * factor
    out_MO = shifted(weight_OI)(torch.eye(576))
    assert torch.equal(out_MO, weight_OI.T)


@needs_half
def test_many_rows_are_multiplied_in_parts() -> None:
    """FBGEMM counts places in 32 bits."""
    linear, x = shifted(weight(), torch.arange(200.0)), inputs(3, 5, 576)
    whole = linear(x)
    linear._most_rows = 4
    torch.testing.assert_close(linear(x), whole, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "fault",
    [
        torch.tensor([[1.0, 1.0 + 2.0**-20]]),  # more digits than float16 has
        torch.tensor([[2.0**15, 2.0**-20]]),  # too far apart
        torch.tensor([[2.0**60, 2.0**-120]]),  # shifted, the second one is 0
        torch.tensor([[2.0**-100, 2.0**-101]]),  # inputs would be shifted out of their range
        torch.tensor([[0.0, 0.0]]),
        torch.tensor([[1.0, float("inf")]]),
        torch.tensor([[1.0, float("nan")]]),
    ],
)
def test_a_matrix_that_would_lose_something_stays_float32(fault: torch.Tensor) -> None:
    assert lossless_shift(fault) is None
    assert isinstance(own_format(fault), PackedLinear)


def test_one_bad_row_at_the_end_of_a_large_matrix_is_found() -> None:
    weight_OI = weight(5000, 8)
    assert lossless_shift(weight_OI) is not None
    weight_OI[-1, -1] = 1 / 3
    assert lossless_shift(weight_OI) is None


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_other_dtypes_stay_what_they_are(dtype: torch.dtype) -> None:
    assert isinstance(own_format(weight().to(dtype)), PackedLinear)


@needs_half
@pytest.mark.parametrize("family", ["llama", "qwen2", "gemma2"])
def test_a_published_model_writes_the_same_text_with_and_without_drafts(family: str) -> None:
    pretrained = build(family, dtype=torch.bfloat16).float()
    model = native(pretrained)
    assert isinstance(model._lm_head, HalfLinear)
    prompts = [[5], [9, 8, 7, 6], [11] * 17]
    true = [generated(pretrained, prompt, 24) for prompt in prompts]
    known = {tuple(prompt): text for prompt, text in zip(prompts, true, strict=True)}
    shape = TreeShape.full([3, 2, 2])
    drafters = {"none": PlainDrafter(), "scripted": ScriptedDrafter(known, shape, accuracy=0.7, vocab=VOCAB)}
    engine = Engine(model, drafters, nodes=len(shape))
    for drafter in drafters:
        assert texts(engine, [Request(prompt_ids=p, drafter=drafter, max_new_tokens=24) for p in prompts]) == true, drafter


@needs_half
def test_a_pass_reads_two_bytes_a_weight() -> None:
    model = native(build("llama", dtype=torch.bfloat16).float())
    # beside the matrices: norms, a row of the embeddings, rotary tables
    assert 0 < pass_bytes(model).weights - model.product_bytes < 2048
    assert model.product_bytes == 2 * sum(
        p.numel() for n, p in build("llama").named_parameters() if p.dim() > 1 and "embed" not in n
    )
