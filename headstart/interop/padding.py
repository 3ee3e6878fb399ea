"""Prompts of a batch, cut out of the padding on their left.

Shapes: B rows, T positions, padding included.
"""

from collections.abc import Sequence

import torch

from headstart.errors import InvalidParameterError, PromptError


def padding_lengths(input_ids_BT: torch.Tensor, attention_mask_BT: torch.Tensor | None) -> list[int]:
    """How many positions on the left of each row are padding; the mask's zeros.

    Raises:
        InvalidParameterError: a mask of another shape, or zeros elsewhere.
        PromptError: nothing but padding.
    """
    if attention_mask_BT is None:
        return [0] * input_ids_BT.shape[0]
    if attention_mask_BT.shape != input_ids_BT.shape:
        raise InvalidParameterError(
            f"attention_mask has shape {tuple(attention_mask_BT.shape)}; expected {tuple(input_ids_BT.shape)}, that of input_ids"
        )
    seen_BT = attention_mask_BT != 0
    lengths = (~seen_BT).sum(-1).tolist()
    for row, length in enumerate(lengths):
        if length == input_ids_BT.shape[1]:
            raise PromptError(f"row {row} of attention_mask is all zeros: an empty prompt; give at least one token")
        if not bool(seen_BT[row, length:].all()):
            raise InvalidParameterError(
                f"row {row} of attention_mask has zeros after its first one; expected padding on the left alone"
                " (tokenizer.padding_side = 'left')"
            )
    return [int(length) for length in lengths]


def check_positions(position_ids_BT: torch.Tensor | None, padding: Sequence[int]) -> None:
    """Raises InvalidParameterError for positions that do not count each row's tokens from 0."""
    if position_ids_BT is None:
        return
    for row, pad in enumerate(padding):
        own_T = position_ids_BT[row % position_ids_BT.shape[0], pad:] if position_ids_BT.dim() == 2 else position_ids_BT
        if own_T.dim() != 1 or not torch.equal(own_T, torch.arange(own_T.shape[0], device=own_T.device, dtype=own_T.dtype)):
            raise InvalidParameterError(
                f"position_ids of row {row} do not count its tokens from 0, and custom_generate knows no other; leave them out"
            )
