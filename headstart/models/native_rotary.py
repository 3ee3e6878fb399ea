"""Rotary positions from the model's own frequencies, as tables that a pass reads once for all layers.

Shapes: B rows, N nodes, T positions, H heads (query and key joined), D size of a head, R its rotated part.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from headstart.models.native_spec import by_kind


@dataclass(frozen=True)
class Turn:
    """The rotation of one pass for one kind of layer."""

    cos_BN1R: torch.Tensor
    sin_BN1R: torch.Tensor
    """The first half negated, so that swapping halves is all that is left to do."""

    def __call__(self, x_BNHD: torch.Tensor) -> torch.Tensor:
        """x rotated by its nodes' positions; columns beyond R pass as they are (and x is overwritten then)."""
        rotated = self.cos_BN1R.shape[-1]
        if rotated == x_BNHD.shape[-1]:
            return self._turned(x_BNHD)
        x_BNHD[..., :rotated] = self._turned(x_BNHD[..., :rotated])
        return x_BNHD

    def _turned(self, x: torch.Tensor) -> torch.Tensor:
        swapped = x.roll(x.shape[-1] // 2, -1)
        turned = (x * self.cos_BN1R).addcmul_(swapped, self.sin_BN1R)
        return turned if turned.dtype == x.dtype else turned.to(x.dtype)


class Rotary:
    """Tables of cosines and sines by kind of layer, grown by doubling up to ``most`` positions."""

    def __init__(self, module: torch.nn.Module, kinds: tuple[str, ...], most: int, dtype: torch.dtype) -> None:
        self._module, self._most, self._dtype = module, most, dtype
        self._kinds = kinds if by_kind(module) else ("",)
        self._tables: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        self._length = 0

    def turns(self, positions_BN: torch.Tensor, longest: int) -> dict[str, Turn]:
        """The rotation of each kind of layer; ``longest`` is above every position. The context's last position stands for all
        beyond it, where only nodes that fill a batch can be."""
        if longest > self._length and self._length < self._most:
            self._grow(min(max(longest, 2 * self._length, 256), self._most))
        index = positions_BN.clamp(max=self._most - 1)
        return {kind: Turn(cos[index][:, :, None], sin[index][:, :, None]) for kind, (cos, sin) in self._tables.items()}

    def of_layer(self, turns: Mapping[str, Turn], kind: str) -> Turn:
        return turns[kind] if kind in turns else turns[""]

    @torch.inference_mode()
    def _grow(self, length: int) -> None:
        device = next(self._module.buffers()).device
        positions = torch.arange(length, device=device)[None]
        for kind in self._kinds:
            arguments = (kind,) if kind else ()
            # in the format that the module gives: some families rotate in float32 whatever theirs is
            cos, sin = self._module(torch.zeros(1, dtype=self._dtype, device=device), positions, *arguments)
            half = sin.shape[-1] // 2
            self._tables[kind] = (cos[0], torch.cat([-sin[0, :, :half], sin[0, :, half:]], -1))
        self._length = length
