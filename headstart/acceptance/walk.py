"""The ``exact`` rule: keep what the base model would have said anyway.

Walk from the root: take the base model's own token after the node; while it is among the node's children, go to that
child. The token on which the walk ends is the next root. Nothing is drawn for acceptance itself, so the output depends on
the model, the prompt, the parameters and the seed alone. Greedy: Medusa (Cai et al. 2024), section 2.1; with noise:
drafter-invariant speculative decoding (Daliri et al. 2024).

Shapes: B rows, N nodes, V vocabulary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from headstart.sampling.likeliest import likeliest
from headstart.sampling.row import RowSampling, choose
from headstart.trees.candidate import CandidateTree


@dataclass(frozen=True)
class Accepted:
    """The outcome of one row's step."""

    path: tuple[int, ...]
    """Accepted nodes in order, the root (0) first."""
    tokens: tuple[int, ...]
    """Ids the step emits: those of the accepted nodes but the root, then the next root."""

    @property
    def next_root(self) -> int:
        return self.tokens[-1]


@dataclass(frozen=True, kw_only=True)
class Exact:
    """What the base model would have written anyway, and nothing else."""

    name: ClassVar[str] = "exact"
    lossy: ClassVar[bool] = False
    draws: ClassVar[bool] = False

    def accept(self, tree: CandidateTree, logits_BNV: torch.Tensor, rows: Sequence[RowSampling | None]) -> list[Accepted | None]:
        return walk(tree, logits_BNV, rows)


def walk(tree: CandidateTree, logits_BNV: torch.Tensor, rows: Sequence[RowSampling | None]) -> list[Accepted | None]:
    """Accept by the exact rule. ``rows[b]`` is None for a row of padding, whose result is None.

    Greedy rows without processors are decided in one argmax over all nodes. For the others the walk is lazy: logits are
    processed only at nodes that are reached.
    """
    greedy = any(row is not None and row.plain_argmax for row in rows)
    tokens_BN, parent_BN, *argmax = tree.read(*([likeliest(logits_BNV)] if greedy else []))
    argmax_BN = argmax[0] if greedy else None
    path_B: list[list[int]] = [[0] for _ in rows]
    emitted_B: list[list[int]] = [[] for _ in rows]
    active = [b for b, row in enumerate(rows) if row is not None]
    while active:
        chosen = _choose_level(logits_BNV, argmax_BN, rows, active, path_B, emitted_B)
        still_walking = []
        for b, token in zip(active, chosen, strict=True):
            emitted_B[b].append(token)
            child = _child(tokens_BN[b], parent_BN[b], path_B[b][-1], token)
            if child is not None:
                path_B[b].append(child)
                still_walking.append(b)
        active = still_walking
    return [
        None if row is None else Accepted(tuple(path), tuple(emitted))
        for row, path, emitted in zip(rows, path_B, emitted_B, strict=True)
    ]


def _choose_level(
    logits_BNV: torch.Tensor,
    argmax_BN: list[list[int]] | None,
    rows: Sequence[RowSampling | None],
    active: Sequence[int],
    path_B: Sequence[Sequence[int]],
    emitted_B: Sequence[Sequence[int]],
) -> list[int]:
    """The base model's own token after the last node of each active row's path."""
    chosen: dict[int, int] = {}
    lazy: list[tuple[int, RowSampling]] = []
    for b in active:
        row = rows[b]
        assert row is not None
        if argmax_BN is not None and row.plain_argmax:
            chosen[b] = argmax_BN[b][path_B[b][-1]]
        else:
            lazy.append((b, row))
    if lazy:
        at = torch.tensor([[b, path_B[b][-1]] for b, _ in lazy], device=logits_BNV.device)
        tokens = choose(logits_BNV[at[:, 0], at[:, 1]], [row for _, row in lazy], [emitted_B[b] for b, _ in lazy])
        chosen.update(zip((b for b, _ in lazy), tokens, strict=True))
    return [chosen[b] for b in active]


def _child(tokens_N: Sequence[int], parent_N: Sequence[int], node: int, token: int) -> int | None:
    """The child of ``node`` that holds ``token``. Padding holds -1, which is no token."""
    for child in range(node + 1, len(tokens_N)):
        if parent_N[child] == node and tokens_N[child] == token:
            return child
    return None
