"""Rows of several texts, one after another, none of which sees another: positions begin anew with each text.

Shapes: B rows, T positions, A predicted answer tokens of all rows, K heads, D hidden.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from headstart.train.joint.texts import Text

Row = list[Text]


@dataclass(frozen=True)
class Packed:
    """Rows ready for a pass. Answer tokens stand in the order of their texts."""

    ids_BT: torch.Tensor
    positions_BT: torch.Tensor
    at_A: torch.Tensor
    """Flat places, row after row, from which the answer tokens are predicted."""
    next_A: torch.Tensor
    """The answer tokens."""
    left_A: torch.Tensor
    """Answer tokens after this one."""
    recorded_AD: torch.Tensor | None
    """The untouched model's states; zeros where ``known_A`` is false. None where texts have none."""
    known_A: torch.Tensor

    def ahead(self, heads: int) -> torch.Tensor:
        """The ``heads`` tokens after each answer token, A x K; -1 beyond its answer."""
        ahead_K = torch.arange(1, heads + 1, device=self.next_A.device)
        place_AK = torch.arange(len(self.next_A), device=self.next_A.device)[:, None] + ahead_K
        return torch.where(self._within(ahead_K), self.next_A[place_AK.clamp(max=len(self.next_A) - 1)], -1)

    def deciding(self, heads: int) -> tuple[torch.Tensor, torch.Tensor] | None:
        """The untouched model's states behind those tokens, A x K x D, and where they are known, A x K."""
        if self.recorded_AD is None:
            return None
        ahead_K = torch.arange(1, heads + 1, device=self.next_A.device)
        place_AK = torch.arange(len(self.next_A), device=self.next_A.device)[:, None] + ahead_K
        place_AK = place_AK.clamp(max=len(self.next_A) - 1)
        known_AK = self._within(ahead_K) & self.known_A[place_AK]
        return self.recorded_AD[place_AK] * known_AK[..., None], known_AK

    def _within(self, ahead_K: torch.Tensor) -> torch.Tensor:
        return ahead_K <= self.left_A[:, None]


def pack(rows: Sequence[Row], device: torch.device) -> Packed:
    """Lay the texts of each row one after another; the shorter rows end in padding, which is a text of its own."""
    width = max(2, max(sum(len(text.ids) - 1 for text in row) for row in rows))
    ids_BT = torch.zeros(len(rows), width, dtype=torch.int64)
    positions_BT = torch.zeros_like(ids_BT)
    at, following, left, states, known = [], [], [], [], []
    recorded = all(text.states_SD is not None for row in rows for text in row)
    for b, row in enumerate(rows):
        start = 0
        for text in row:
            size = len(text.ids) - 1
            ids_BT[b, start : start + size] = text.ids[:-1]
            positions_BT[b, start : start + size] = torch.arange(size)
            at.append(b * width + start + torch.arange(text.prompt - 1, size))
            following.append(text.ids[text.prompt :])
            left.append(torch.arange(text.answer - 1, -1, -1))
            known.append(torch.arange(text.answer) < (text.answer - 1 if recorded else 0))
            if recorded:
                found = text.state(0, text.answer)
                assert found is not None
                states += [found, found.new_zeros(1, found.shape[1])]
            start += size
        positions_BT[b, start:] = torch.arange(width - start)
    return Packed(
        ids_BT=ids_BT.to(device),
        positions_BT=positions_BT.to(device),
        at_A=torch.cat(at).to(device),
        next_A=torch.cat(following).to(device),
        left_A=torch.cat(left).to(device),
        recorded_AD=torch.cat(states).to(device) if recorded else None,
        known_A=torch.cat(known).to(device),
    )


class RowOrder:
    """Which rows each step trains on: texts shuffled anew every epoch, from the seed and the epoch alone, and laid into rows."""

    def __init__(self, texts: Sequence[Text], *, length: int, batch: int, seed: int) -> None:
        self._texts, self.length, self._seed = texts, length, seed
        self._epoch = -1
        self._rows: list[Row] = []
        self.batch = batch
        self._select(0)
        self.per_epoch = max(1, len(self._rows) // batch)

    def __getitem__(self, step: int) -> list[Row]:
        """The rows of a step; the few that do not fill one are left out of that epoch."""
        epoch, within = divmod(step, self.per_epoch)
        self._select(epoch)
        rows = self._rows[within * self.batch : (within + 1) * self.batch]
        return rows or self._rows[: self.batch]  # epochs differ a little in how many rows they make

    def _select(self, epoch: int) -> None:
        if epoch == self._epoch:
            return
        generator = torch.Generator().manual_seed((self._seed * 1_000_003 + epoch) & 0x7FFFFFFFFFFFFFFF)
        order = torch.randperm(len(self._texts), generator=generator).tolist()
        self._epoch, self._rows = epoch, rows_of([self._texts[i] for i in order], self.length)


def rows_of(texts: Sequence[Text], length: int) -> list[Row]:
    """Texts in rows of at most ``length`` tokens; each goes into the first of the last few rows that has room."""
    rows: list[Row] = []
    room: list[int] = []
    for text in texts:
        size = len(text.ids) - 1
        for i in range(max(0, len(rows) - _OPEN), len(rows)):
            if room[i] >= size:
                rows[i].append(text)
                room[i] -= size
                break
        else:
            rows.append([text])
            room.append(length - size)
    return rows


_OPEN = 16
