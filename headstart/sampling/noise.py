"""Gumbel noise that depends on nothing but (seed, position, token id).

It makes sampling deterministic without changing its distribution (the Gumbel-max trick), so that every way to decode
the same request draws the same tokens; see ``docs/exactness.md``. The hash is counter-based: no state, no order of calls.

Shapes: R rows, C token ids.
"""

import secrets
from functools import lru_cache
from typing import Literal

import torch

# Odd 64-bit constants (written as signed ints, since torch has no unsigned arithmetic): the golden ratio's increment,
# two finalizer multipliers of the splitmix64 family, and one stream constant per input.
_GAMMA = -7046029254386353131
_MIX_1 = -4658895280553007687
_MIX_2 = -7723592293110705685
_POSITION = -4417276706812531889
_MASK_32 = 0xFFFFFFFF

Purpose = Literal["draft", "accept", "residual"]
_PURPOSES: dict[Purpose, int] = {
    "draft": 3935559000370003845,
    "accept": 2691343689449507681,
    "residual": 4354685564936845355,
}


def _shift(x: torch.Tensor, bits: int) -> torch.Tensor:
    """Logical right shift; torch's ``>>`` on int64 carries the sign along."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _mix(x: torch.Tensor) -> torch.Tensor:
    """Scramble 64 bits so that each output bit depends on each input bit (wrap-around products are meant)."""
    x = (x ^ _shift(x, 30)) * _MIX_1
    x = (x ^ _shift(x, 27)) * _MIX_2
    return x ^ _shift(x, 31)


def _signed(x: int) -> int:
    """An int of any size folded into the range of int64."""
    x &= (1 << 64) - 1
    return x - (1 << 64) if x >= 1 << 63 else x


def uniform(seeds_R: torch.Tensor, positions_R: torch.Tensor, ids_RC: torch.Tensor) -> torch.Tensor:
    """Uniform numbers in (0, 1), float64, one per (row, id), from 32 hashed bits each.

    ``seeds_R`` and ``positions_R`` are int64; ``ids_RC`` is int64 (or broadcasts to R x C).
    """
    key_R = _mix(_mix(seeds_R * _GAMMA) + positions_R * _POSITION)
    hashed_RC = _mix(key_R[:, None] + (ids_RC + 1) * _GAMMA)
    return (_shift(hashed_RC, 32).to(torch.float64) + 0.5) / (_MASK_32 + 1)


def gumbel(seeds_R: torch.Tensor, positions_R: torch.Tensor, ids_RC: torch.Tensor) -> torch.Tensor:
    """Standard Gumbel noise G(seed, position, id), float64: ``-log(-log(u))`` written so that both tails stay exact."""
    # 1 - u is as uniform as u; log1p keeps full precision where u is small, which is where the largest noise lies
    return -torch.log(-torch.log1p(-uniform(seeds_R, positions_R, ids_RC)))


def fold(seed: int, index: int) -> int:
    """A seed for request (or choice) ``index`` of a list; index 0 keeps the seed, so that a list of one equals the one."""
    if index == 0:
        return _signed(seed)
    mixed = _mix(_mix(torch.tensor([_signed(seed)]) + _GAMMA) + _signed(index * _POSITION))
    return int(mixed.item()) & 0x7FFFFFFFFFFFFFFF


@lru_cache(maxsize=4096)
def stream(seed: int, purpose: Purpose, child: int = 0) -> int:
    """The seed of another noise, independent of the seed's own and of every other purpose's and child's.

    ``gumbel`` and ``uniform`` take it in the seed's place, with the position and the token id as always.
    """
    mixed = _mix(_mix(torch.tensor([_signed(seed)]) ^ _PURPOSES[purpose]) + _signed((child + 1) * _GAMMA))
    return int(mixed.item())


def fresh_seed() -> int:
    """A seed that nobody asked for: 62 random bits from the operating system."""
    return secrets.randbits(62)
