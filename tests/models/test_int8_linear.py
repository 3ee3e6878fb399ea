"""Products with 8-bit weights: what they compute, and that a row's neighbours change nothing."""

import pytest
import torch

from headstart.models.int8_linear import Int8Linear, int8_fault

pytestmark = pytest.mark.skipif(int8_fault() is not None, reason=f"no 8-bit products here: {int8_fault()}")


def inputs(rows: int, columns: int, dtype: torch.dtype = torch.bfloat16) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(1)).to(dtype)


def weight(rows: int, columns: int) -> torch.Tensor:
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(0)).bfloat16()


def test_whole_numbers_are_exact() -> None:
    # every row of the matrix and of the input reaches 127, so that one step is 1 and nothing is rounded
    generator = torch.Generator().manual_seed(0)
    weight_OI = torch.randint(-127, 128, (40, 70), generator=generator).float()
    x_MI = torch.randint(-127, 128, (5, 70), generator=generator).float()
    weight_OI[:, 3], x_MI[:, 8] = 127, -127
    bias_O = torch.arange(40.0)
    assert torch.equal(Int8Linear(weight_OI, bias_O)(x_MI), x_MI @ weight_OI.T + bias_O)


def test_the_largest_sum_does_not_overflow() -> None:
    # 4096 columns of 127 * 127 are 66 million, which 16 bits would not hold and 32 do
    out = Int8Linear(torch.ones(8, 4096))(torch.ones(3, 4096))
    assert torch.allclose(out, torch.full((3, 8), 4096.0), rtol=1e-6)


def test_it_is_near_the_product() -> None:
    x_MI, weight_OI = inputs(9, 576), weight(200, 576)
    exact_MO = x_MI.float() @ weight_OI.float().T
    error = (Int8Linear(weight_OI)(x_MI).float() - exact_MO).norm() / exact_MO.norm()
    # both sides are rounded to steps of about 3.5 / 127 standard deviations: sqrt(2 / 12) * 0.028 = 0.011, and bfloat16 adds 0.002
    assert error < 0.015


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("ranged", [False, True])
def test_a_row_has_the_same_bits_among_any_neighbours(ranged: bool, threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        x_MI = inputs(33, 576)
        linear = Int8Linear(weight(300, 576), torch.randn(300).bfloat16(), torch.rand(576) + 0.1 if ranged else None)
        together_MO = linear(x_MI)
        for rows in (1, 2, 3, 4, 5, 7, 8, 16):
            for start in range(0, 33 - rows, 6):
                some = slice(start, start + rows)
                assert torch.equal(linear.alike(x_MI[some]), together_MO[some])
    finally:
        torch.set_num_threads(before)


def test_rows_of_zeros_give_the_bias() -> None:
    x_MI = inputs(3, 64)
    x_MI[1] = 0
    bias_O = torch.arange(16).bfloat16()
    out_MO = Int8Linear(weight(16, 64), bias_O)(x_MI)
    assert torch.equal(out_MO[1], bias_O)
    assert bool(out_MO.isfinite().all())


def test_no_number_stays_no_number() -> None:
    x_MI = inputs(2, 64)
    x_MI[0, 5] = float("nan")
    out_MO = Int8Linear(weight(16, 64))(x_MI)
    assert bool(out_MO[0].isnan().all())
    assert bool(out_MO[1].isfinite().all())


def test_known_ranges_save_the_small_channels() -> None:
    # one channel a thousand times the others: by itself it sets the step, and the others are rounded to nothing
    x_MI, weight_OI = inputs(20, 256, torch.float32), weight(64, 256).float()
    x_MI[:, 7] *= 1000
    weight_OI[:, 7] *= 0.001
    exact_MO = x_MI @ weight_OI.T
    errors = [
        float((Int8Linear(weight_OI, None, range_I)(x_MI) - exact_MO).norm() / exact_MO.norm())
        for range_I in (None, x_MI.abs().amax(0))
    ]
    assert errors[0] > 0.5  # 255 of 256 channels are lost
    assert errors[1] < 0.03


def test_shape_and_dtype_are_the_inputs() -> None:
    linear = Int8Linear(weight(24, 64))
    for dtype in (torch.bfloat16, torch.float32, torch.float64):
        out = linear(inputs(6, 64, dtype).view(2, 3, 64))
        assert (out.shape, out.dtype) == ((2, 3, 24), dtype)
    assert linear.weight_bytes == 24 * 64 + 24 * 12  # a byte a weight; scale, zero point and sum of each row


def test_the_setting_of_the_process_is_put_back() -> None:
    before = torch.backends.quantized.engine
    Int8Linear(weight(24, 64))
    assert torch.backends.quantized.engine == before
