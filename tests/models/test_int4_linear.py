"""Products with 4-bit weights: what they compute, and that a row's neighbours change nothing."""

import pytest
import torch

from headstart.errors import UnsupportedModelError
from headstart.models.int4_linear import Int4Linear, int4_fault

pytestmark = pytest.mark.skipif(int4_fault() is not None, reason=f"no 4-bit products here: {int4_fault()}")


def test_sixteen_even_steps_are_exact() -> None:
    # each group of 32 holds all of 16 even steps: scale and offset are found again, whatever they are (powers of two here)
    generator = torch.Generator().manual_seed(0)
    steps = torch.stack([torch.randperm(32, generator=generator) // 2 for _ in range(40 * 4)]).view(40, 4, 32).float()
    scale, low = torch.tensor([0.5, 1.0, 2.0, 4.0])[:, None], torch.tensor([-8.0, 0.0, -16.0, 4.0])[:, None]
    weight_OI = (steps * scale + low).view(40, 128)
    x_MI = torch.randint(-8, 9, (5, 128), generator=generator).float()
    bias_O = torch.arange(40.0)
    # 40 rows are no multiple of 16: those that are added to fill up do not show
    assert torch.equal(Int4Linear(weight_OI, bias_O)(x_MI), x_MI @ weight_OI.T + bias_O)


def test_it_is_near_the_product() -> None:
    generator = torch.Generator().manual_seed(0)
    x_MI, weight_OI = torch.randn(9, 576, generator=generator), torch.randn(208, 576, generator=generator)
    exact_MO = x_MI @ weight_OI.T
    error = (Int4Linear(weight_OI)(x_MI) - exact_MO).norm() / exact_MO.norm()
    # 32 normal numbers span about 4.1 standard deviations: 4.1 / 15 / sqrt(12) = 0.079
    assert 0.06 < error < 0.1


@pytest.mark.parametrize("threads", [1, 2])
def test_a_row_has_the_same_bits_among_any_neighbours(threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        generator = torch.Generator().manual_seed(0)
        x_MI = torch.randn(33, 576, generator=generator).bfloat16()
        linear = Int4Linear(torch.randn(304, 576, generator=generator).bfloat16(), torch.randn(304, generator=generator).bfloat16())
        together_MO = linear(x_MI)
        for rows in (1, 2, 3, 4, 5, 7, 8, 16):
            for start in range(0, 33 - rows, 6):
                some = slice(start, start + rows)
                assert torch.equal(linear.alike(x_MI[some]), together_MO[some])
    finally:
        torch.set_num_threads(before)


def test_shape_dtype_and_bytes() -> None:
    linear = Int4Linear(torch.randn(32, 64).bfloat16())
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        out = linear(torch.randn(2, 3, 64).to(dtype))
        assert (out.shape, out.dtype) == ((2, 3, 32), dtype)
    assert linear.weight_bytes == 32 * 64 // 2 + 32 * 2 * 2 * 2  # half a byte a weight; 2 groups a row with 2 numbers of 2 bytes


def test_columns_that_do_not_fit_are_refused() -> None:
    with pytest.raises(UnsupportedModelError, match=r"multiple of 32 columns, and this model has one of 48; use weights='int8'"):
        Int4Linear(torch.randn(16, 48))
