"""How large a tree may be, and what it costs to grow it: what an engine tells a drafter for a row and a step."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """The largest tree that a row may carry this step."""

    nodes: int
    """The root included; at least 1."""
    depth: int
    """Below the root; 0 leaves the root alone."""
    price: float = 0.0
    """What a further node adds to the time of a pass, in passes without guesses: a drafter that knows its guesses' chances can stop
    where the next one is not worth it."""
