"""In which order the contestants take their turns, so that a machine that changes meanwhile favours none."""

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def order_of(items: Sequence[T], turn: int) -> list[T]:
    """The order of the ``turn``-th batch.

    Over 2n turns each of n items stands twice at every place and follows every other equally often (Williams 1949: a Latin
    square balanced for what came before; for an odd number of items it takes the mirrored square as well).
    """
    n = len(items)
    zigzag = [(i + 1) // 2 if i % 2 else (n - i // 2) % n for i in range(n)]
    order = [items[(place + turn) % n] for place in zigzag]
    return order[::-1] if n % 2 and (turn // n) % 2 else order
