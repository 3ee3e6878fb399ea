"""Where an accepted block ends. It is cropped once, here, and everything else follows the cropped block."""

from collections.abc import Sequence
from dataclasses import dataclass

from headstart.completion import FinishReason
from headstart.request import Request


@dataclass(frozen=True)
class Crop:
    """The part of a block that belongs to the text."""

    token_ids: tuple[int, ...]
    finish_reason: FinishReason | None
    ended_by: str | None


def crop(block: Sequence[int], emitted: int, limit: int, request: Request) -> Crop:
    """Cut ``block``, which follows ``emitted`` ids, at the earliest of stop id, matcher and ``limit`` (ids in all).

    A stop beats length when it is earlier or equal. Ids before ``min_new_tokens`` do not stop.
    """
    kept = list(block[: limit - emitted])
    reason: FinishReason | None = "length" if emitted + len(kept) >= limit else None
    ended_by = None
    for i, token in enumerate(kept):
        if token in request.stop_ids and emitted + i >= request.min_new_tokens:
            kept, reason, ended_by = kept[: i + 1], "stop", "id"
            break
    if request.matcher is not None:
        # an id that stops is not text; the matcher sees what is
        text_ids = kept[:-1] if ended_by == "id" else kept
        found = request.matcher.feed(text_ids)
        if found is not None:
            kept, reason, ended_by = kept[:found], "stop", "matcher"
    return Crop(tuple(kept), reason, ended_by)
