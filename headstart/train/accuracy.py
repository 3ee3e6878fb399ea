"""How often heads are right.

Shapes: E examples, K heads, T numbers of first guesses.
"""

import torch

TOPS = (1, 3, 5, 10)


def top_shares(rank_EK: torch.Tensor) -> list[list[float]]:
    """Per head, how often the right token is among its first 1, 3, 5 and 10 guesses. A negative rank is of a place beyond the
    answer's end; a head without any other has no share (NaN)."""
    return [[float((known_E < top).double().mean()) for top in TOPS] for known_E in (rank_E[rank_E >= 0] for rank_E in rank_EK.T)]


def shown(share: float) -> str:
    """A share for people; a dash where there is none."""
    return "-" if share != share else f"{share:.1%}"
