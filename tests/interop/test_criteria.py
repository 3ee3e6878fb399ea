"""Where a block ends by criteria of transformers, for a row that ends alone and for a batch that ends together."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from transformers import EosTokenCriteria, MaxLengthCriteria, MaxTimeCriteria, StoppingCriteriaList

from headstart.interop.criteria import CriteriaMatcher, Together, plain_stops


def at(*tokens: int) -> StoppingCriteriaList:
    """Row b ends with ``tokens[b]``."""

    def stop(input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        return input_ids[:, -1] == torch.tensor(tokens)

    return StoppingCriteriaList([stop])


def matchers(criteria: StoppingCriteriaList, rows: int, *, pads: bool) -> tuple[list[CriteriaMatcher], Together]:
    together = Together(rows)
    prompt = torch.tensor([1, 2])
    return [CriteriaMatcher(criteria, prompt, row, together, pads=pads, scores=lambda ids: None) for row in range(rows)], together


def test_ids_and_length_need_no_asking() -> None:
    eos, length = EosTokenCriteria([4, 9]), MaxLengthCriteria(7)
    assert plain_stops(StoppingCriteriaList([length, eos])) == {4, 9}
    assert plain_stops(StoppingCriteriaList([length])) == frozenset()
    assert plain_stops(StoppingCriteriaList([length, eos, MaxTimeCriteria(9.0)])) is None


@pytest.mark.parametrize("blocks", [[[5, 6, 7, 8]], [[5], [6, 7], [8]], [[5, 6], [7, 8]]])
def test_a_row_ends_in_mid_block(blocks: Sequence[Sequence[int]]) -> None:
    """With the 7, whatever the blocks; the other row's 6 is not its own."""
    (row, _), _ = matchers(at(7, 6), 2, pads=True)
    kept = 0
    for block in blocks:
        found = row.feed(block)
        kept += len(block) if found is None else found
        if found is not None:
            break
    assert kept == 3


def test_rows_end_together() -> None:
    """Row 0 has ended after 2 ids and goes on until row 1 has, after 3; what row 0 has beyond that is cut later."""
    (first, second), together = matchers(at(6, 7), 2, pads=False)
    assert first.feed([5, 6, 5, 5, 5]) is None
    assert together.end is None
    assert second.feed([5, 5, 7, 5]) == 3
    assert together.end == 3
    assert first.feed([6, 5]) == 1  # at once, and its first end counts
