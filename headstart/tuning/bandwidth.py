"""How fast this machine reads its memory: what bounds a step of plain decoding, which reads every weight once."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

_LEAST, _MOST = 64 << 20, 1 << 30


@dataclass(frozen=True)
class Bandwidth:
    """Bytes per second, over reads of ``nbytes`` bytes."""

    nbytes: int
    median: float
    lowest: float
    highest: float
    reads: int

    def seconds(self, nbytes: int) -> float:
        """How long reading ``nbytes`` bytes takes at least, at the median rate."""
        return nbytes / self.median


def read_bandwidth(nbytes: int, device: torch.device, *, reads: int = 9) -> Bandwidth:
    """Read a buffer again and again with the CPU threads that torch is set to now; the better of two ways to read counts.

    The buffer is as large as what a pass reads (64 MiB to 1 GiB), so that a cache which holds a small model's weights from one
    pass to the next is counted in.
    """
    nbytes = min(max(nbytes, _LEAST), _MOST) // 8 * 8
    buffer = torch.ones(nbytes // 8, dtype=torch.int64, device=device)  # written, or all of it would be one page of zeros
    halves = buffer.view(torch.int32)
    ways: tuple[Callable[[], torch.Tensor], ...] = (buffer.sum, halves.amax)
    rates: list[list[float]] = [[], []]
    with torch.inference_mode():
        for turn in range(reads + 1):
            for way, found in zip(ways, rates, strict=True):
                began = time.perf_counter()
                way().item()  # waits for the device
                seconds = time.perf_counter() - began
                if turn:  # the first touch is not a read like the others
                    found.append(nbytes / seconds)
    best = max(rates, key=statistics.median)
    return Bandwidth(nbytes, statistics.median(best), min(best), max(best), len(best))
