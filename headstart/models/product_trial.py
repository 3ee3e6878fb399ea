"""Operators that torch does not promise are tried before they are used."""

from collections.abc import Callable

import torch


def fault_of(kind: str, works: Callable[[], bool], wrong: str) -> str | None:
    """Why products of this kind cannot be used with this processor and torch; None if they can.

    Args:
        kind: what they are called, "4-bit" for instance.
        works: makes one and says whether it is right.
        wrong: what is said where it is not.
    """
    try:
        return None if works() else wrong
    except (RuntimeError, AttributeError, TypeError) as error:
        said = (str(error).strip().splitlines() or ["no message"])[0]
        return f"torch {torch.__version__} has no {kind} products here ({said})"
