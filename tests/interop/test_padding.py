"""Where rows begin, and what is no padding on the left."""

import pytest
import torch

from headstart.errors import InvalidParameterError, PromptError
from headstart.interop.padding import check_positions, padding_lengths

IDS = torch.tensor([[0, 0, 5, 6], [7, 8, 9, 0], [0, 1, 2, 3]])


def test_lengths() -> None:
    assert padding_lengths(IDS, None) == [0, 0, 0]
    # the mask alone decides: row 1 ends with the id of padding, row 2 begins with it
    assert padding_lengths(IDS, torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]])) == [2, 0, 0]


@pytest.mark.parametrize("mask", [[1, 1, 0, 0], [0, 1, 0, 1], [1, 0, 1, 1]])
def test_holes(mask: list[int]) -> None:
    with pytest.raises(InvalidParameterError, match="row 1 of attention_mask has zeros after its first one"):
        padding_lengths(IDS, torch.tensor([[1, 1, 1, 1], mask, [1, 1, 1, 1]]))


def test_other_shapes() -> None:
    with pytest.raises(InvalidParameterError, match=r"attention_mask has shape \(3, 5\); expected \(3, 4\)"):
        padding_lengths(IDS, torch.ones(3, 5))
    with pytest.raises(PromptError, match="row 0 of attention_mask is all zeros"):
        padding_lengths(IDS, torch.tensor([[0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 1, 1]]))


def test_positions() -> None:
    check_positions(None, [2, 0])
    check_positions(torch.tensor([[1, 1, 0, 1], [0, 1, 2, 3]]), [2, 0])  # positions of padding mean nothing
    for wrong in ([[1, 1, 1, 2], [0, 1, 2, 3]], [[0, 1, 2, 3], [0, 1, 2, 3]]):
        with pytest.raises(InvalidParameterError, match="position_ids of row 0 do not count its tokens from 0"):
            check_positions(torch.tensor(wrong), [2, 0])
    with pytest.raises(InvalidParameterError, match="position_ids of row 0"):
        check_positions(torch.zeros(3, 2, 4), [2, 0])  # positions in three dimensions, of models that see pictures
