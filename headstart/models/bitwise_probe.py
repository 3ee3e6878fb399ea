"""Whether this processor's products keep bits equal.

Nothing that torch documents promises it, so it is tried. What was found: in bfloat16 oneDNN gives a row the same bits whatever
rows stand beside it, from two rows on (batched products of no more than 4,096 multiplications never get to oneDNN: torch has a
kernel of its own for those, with another order); the inner axis of a product is added up in order, a few columns at a time (2 with
AVX512-BF16, 32 with AMX), 512 columns to a block. Lengths between 512 and 1024 are cut otherwise, and so not used.
"""

from functools import lru_cache

import torch

from headstart.models.bitwise_columns import MULTIPLE, SLAB

FAR_FROM = 1088
"""Columns that a product over more than 512 has to have at least, so that longer ones give the same bits."""

_SPANS = (2, 32)
_SMALL = 16**3


def fewest_rows(size: int) -> int:
    """Rows that a batched product over at least ``MULTIPLE`` columns and vectors of ``size`` numbers needs to be done by oneDNN."""
    return max(2, _SMALL // (MULTIPLE * size) + 1)


def fitting_span() -> int | None:
    """The fewest positions that have to stay together in a bfloat16 product of this processor; None where no size will do."""
    return _fitting_span(torch.get_num_threads())


@lru_cache(maxsize=8)
@torch.inference_mode()
def _fitting_span(threads: int) -> int | None:
    generator = torch.Generator().manual_seed(0)
    return next((span for span in _SPANS if all(_indifferent(span, columns, generator) for columns in (MULTIPLE, 64, SLAB))), None)


def _indifferent(span: int, columns: int, generator: torch.Generator) -> bool:
    """Whether zeros inserted by whole spans, rows added and rows left out leave the bits of a product alone."""
    weights_1RC = torch.rand(1, 1, columns, generator=generator).expand(-1, 48, -1).bfloat16().contiguous()
    values_1CD = torch.randn(1, columns, 64, generator=generator).bfloat16()
    # the last columns cancel the others' sum, so that what is left are the low bits of float32, where the order shows
    for column in (-2, -1):
        weights_1RC[..., column:] = 0
        weights_1RC[..., column] = 1
        values_1CD[:, column] = -torch.bmm(weights_1RC[..., :column], values_1CD[:, :column])[:, 0] if column == -2 else 0
    values_1CD[:, -1] = -torch.bmm(weights_1RC[..., :-1], values_1CD[:, :-1])[:, 0]
    weights_1RC[..., -2:] = 1
    expected_1RD = torch.bmm(weights_1RC, values_1CD)
    for rows in (fewest_rows(64), 4, 6, 24):
        if not torch.equal(torch.bmm(weights_1RC[:, :rows].contiguous(), values_1CD), expected_1RD[:, :rows]):
            return False
    for inserted in (span, 3 * span, SLAB):
        for at in (0, columns // 4 // span * span, columns):
            zeros, noise = weights_1RC.new_zeros(1, 48, inserted), torch.randn(1, inserted, 64, generator=generator).bfloat16()
            wider = torch.cat([weights_1RC[..., :at], zeros, weights_1RC[..., at:]], -1)
            longer = torch.cat([values_1CD[:, :at], noise, values_1CD[:, at:]], 1)
            if columns + inserted <= 2 * SLAB and not torch.equal(torch.bmm(wider, longer), expected_1RD):
                return False
    return True


def long_products_fit() -> bool:
    """Whether a product over more than 512 columns has the bits that it has among more rows, and with zeros behind it."""
    return _long_products_fit(torch.get_num_threads())


@lru_cache(maxsize=8)
@torch.inference_mode()
def _long_products_fit(threads: int) -> bool:
    generator = torch.Generator().manual_seed(0)
    weights_1RC = torch.rand(1, 192, 4 * SLAB + 2 * FAR_FROM, generator=generator).bfloat16()
    values_1CD = torch.randn(1, weights_1RC.shape[2], 64, generator=generator).bfloat16()
    for columns in (SLAB, 2 * SLAB, 3 * SLAB, 4 * SLAB, 5 * SLAB, 8 * SLAB):
        zeroed_1RC = weights_1RC.clone()
        zeroed_1RC[..., columns:] = 0
        expected_1RD = torch.bmm(zeroed_1RC, values_1CD)
        shortest = columns if columns <= 2 * SLAB else max(columns, FAR_FROM)
        for width in {shortest, max(shortest, FAR_FROM), max(shortest, FAR_FROM) + SLAB}:
            for rows in (2, 3, 6, 24, 192):
                alone_1RD = torch.bmm(zeroed_1RC[:, :rows, :width].contiguous(), values_1CD[:, :width])
                if not torch.equal(alone_1RD, expected_1RD[:, :rows]):
                    return False
    return True
