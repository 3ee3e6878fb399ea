"""Texts as one long row of ids, and the batches that are cut out of it.

Shapes: B texts, T positions, S ids of the stream.
"""

from collections.abc import Iterable, Sequence

import torch

from headstart.errors import DataError
from headstart.text.tokenizer import Tokenizer


def stream_of(texts: Iterable[str], tokenizer: Tokenizer, end: int, most: int | None = None) -> torch.Tensor:
    """The ids of all texts, each followed by ``end``, as an int32 tensor S; no more than ``most``."""
    parts: list[torch.Tensor] = []
    size = 0
    for text in texts:
        parts.append(torch.tensor([*tokenizer.encode(text), end], dtype=torch.int32))
        size += len(parts[-1])
        if most is not None and size >= most:
            break
    return torch.cat([torch.zeros(0, dtype=torch.int32), *parts])[:most]


def held_out(texts: Sequence[str], every: int = 20) -> tuple[list[str], list[str]]:
    """(texts to train on, texts that are kept from it): each twentieth is kept, at least one.

    Raises:
        DataError: a single text.
    """
    if len(texts) < 2:
        raise DataError("the text is too short to hold a part of it out; expected some thousand characters at least")
    kept = set(range(every - 1, len(texts), every)) or {len(texts) - 1}
    return [text for i, text in enumerate(texts) if i not in kept], [text for i, text in enumerate(texts) if i in kept]


_FURTHEST = 16
"""Ids that are left behind the last piece at least, so that models with up to so many heads read the same pieces."""


class Crops:
    """Random pieces of a stream, in an order that depends on the seed alone.

    A piece may cross from one document into the next, over the token that ends it.
    """

    def __init__(self, stream_S: torch.Tensor, *, length: int, ahead: int, batch: int, seed: int) -> None:
        """``ahead``: further ids of a piece, the targets of its last positions. Where pieces begin does not depend on it."""
        self._starts = len(stream_S) - length - max(ahead, _FURTHEST) + 1
        if self._starts < 1:
            raise DataError(
                f"{len(stream_S)} tokens of text are too few for pieces of {length}; give more text, or a smaller --length"
            )
        self._stream_S, self._length, self._batch, self._seed = stream_S, length + ahead, batch, seed

    def __getitem__(self, step: int) -> torch.Tensor:
        """The ids of a step, B x T, int64."""
        generator = torch.Generator().manual_seed(step_seed(self._seed, step))
        start_B = torch.randint(0, self._starts, (self._batch,), generator=generator)
        return self._stream_S[start_B[:, None] + torch.arange(self._length)].long()


def step_seed(seed: int, step: int) -> int:
    """Another for each step of a run, and one that torch takes."""
    return (seed * 1_000_003 + step) & 0x7FFF_FFFF_FFFF_FFFF


def texts_in_order(stream_S: torch.Tensor, length: int, ahead: int, batch: int) -> Iterable[torch.Tensor]:
    """Pieces of ``length`` one after the other, each with the ``ahead`` ids that follow it, in batches B x (length + ahead)."""
    pieces_PT = stream_S.unfold(0, length + ahead, length)
    return (part.long() for part in pieces_PT.split(batch))
