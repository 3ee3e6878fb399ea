"""Where the time of one pass goes: products with weights, attention, small operations, and what lies between operations."""

import os
import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from torch.profiler import ProfilerActivity, profile

from headstart.models.protocol import BaseModel
from headstart.tuning.warm_pass import WarmPass

_ROUNDS, _PASSES = 3, 3  # a round watches some passes together: to begin watching takes longer than a pass
# names of torch's operations, or parts of them; a batched product is attention's, since weights have no batch
_ATTENTION = ("attention", "bmm", "softmax")
_PRODUCTS = ("linear", "addmm", "::mm", "_mm", "int8pack", "int4pack", "matmul", "::addmv", "::mv")


@dataclass(frozen=True)
class PassSplit:
    """Seconds of one pass, medians of a few."""

    products: float
    """With weights, the LM head's among them."""
    attention: float
    """Scores, softmax and weighted values."""
    small: float
    """Every other operation: norms, activations, rotary embedding, masks, copies."""
    between: float
    """Python and the way to the operations: what is left of the pass."""

    @property
    def total(self) -> float:
        return self.products + self.attention + self.small + self.between


def pass_split(model: BaseModel, *, nodes: int, context: int) -> PassSplit | None:
    """Watch some passes over ``nodes`` nodes; None where operations do not run on the CPU, whose clock is all this reads.

    Watching makes every operation a little longer, so the parts come from watched passes and the whole from others in turn
    with them; the difference is ``between`` (at least 0).

    Raises:
        InvalidParameterError: the cache is in use, or the model has no room for the context.
    """
    if model.facts.device.type != "cpu":
        return None
    whole: list[float] = []
    parts: list[dict[str, float]] = []
    with WarmPass(model, context=context, nodes=nodes) as one_pass:
        one_pass(nodes)
        for _ in range(_ROUNDS):
            whole += [one_pass.timed(nodes) for _ in range(_PASSES)]
            with _no_marks(), profile(activities=[ProfilerActivity.CPU]) as watched:
                for _ in range(_PASSES):
                    one_pass(nodes)
            parts.append(_parts(watched))
    products, attention, small = (statistics.median(part[name] for part in parts) for name in ("products", "attention", "small"))
    between = max(0.0, statistics.median(whole) - products - attention - small)
    return PassSplit(products=products, attention=attention, small=small, between=between)


def kind_of(operation: str) -> str:
    """ "products", "attention" or "small", by the operation's name."""
    if any(part in operation for part in _ATTENTION):
        return "attention"
    return "products" if any(part in operation for part in _PRODUCTS) else "small"


def _parts(watched: profile) -> dict[str, float]:
    """Seconds of a pass by kind, each operation without those that it calls."""
    found = dict.fromkeys(("products", "attention", "small"), 0.0)
    for event in watched.key_averages():
        if "::" in event.key:  # what is not an operation is the profiler's own
            found[kind_of(event.key)] += event.self_cpu_time_total / 1e6 / _PASSES
    return found


@contextmanager
def _no_marks() -> Iterator[None]:
    """torch's profiler writes a line to the process's stderr when it starts and stops, past every setting of Python's."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
