"""The ``rejection`` rule: exact in distribution, for drafters that draw their candidates at random.

A child drawn from q is kept with probability min(1, p/q), and what p has more than q makes up for the refusals, so that each
token has the base model's distribution, whatever q is. Unlike ``exact`` it is a lottery: the seed repeats a text only with the
same drafter, tree and budget.

Sources: Leviathan et al. 2023, section 2.3 and appendix A.1, for one child; SpecInfer (Miao et al. 2024), section 4.3, and Sequoia
(Chen et al. 2024), section 3.2, for several, with and without replacement.

Shapes: B rows, N nodes, P distributions of a row, T positions, C children of a node, V vocabulary.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from headstart.acceptance.walk import Accepted, walk
from headstart.sampling.kinds import check_choice
from headstart.sampling.noise import gumbel, stream, uniform
from headstart.sampling.row import RowSampling, probabilities
from headstart.trees.candidate import CandidateTree


@dataclass(frozen=True, kw_only=True)
class Rejection:
    """Exact in distribution, not word for word: the seed repeats a text only with the same drafter, tree and budget.

    It needs candidates that a drafter drew (``CandidateTree.drawn``); others are not looked at. At temperature 0 it equals
    ``exact``.

    Raises:
        InvalidParameterError: ``replacement`` is neither True nor False.
    """

    name: ClassVar[str] = "rejection"
    lossy: ClassVar[bool] = False
    draws: ClassVar[bool] = True

    replacement: bool = False
    """Whether the children of a node are drawn with replacement, so that an id may come twice."""

    def __post_init__(self) -> None:
        check_choice("replacement", self.replacement)

    def accept(self, tree: CandidateTree, logits_BNV: torch.Tensor, rows: Sequence[RowSampling | None]) -> list[Accepted | None]:
        exact = walk(tree, logits_BNV, [row if row is not None and row.params.greedy else None for row in rows])
        return [
            _row(tree, b, logits_BNV[b], row) if row is not None and not row.params.greedy else exact[b]
            for b, row in enumerate(rows)
        ]


def _row(tree: CandidateTree, b: int, logits_NV: torch.Tensor, row: RowSampling) -> Accepted:
    """Walk down from the root: try the children of each node that is reached, until all of them are refused or none are left."""
    tokens_N, drawn = tree.tokens_BN[b].tolist(), tree.drawn
    children = _children(tree, b)
    first = row.prompt_length + len(row.generated)
    lots_TC = _lots(row.seed, first, len(children), max(map(len, children.values()), default=0))
    path, said = [0], list[int]()
    while True:
        node = path[-1]
        p_V = probabilities(logits_NV[node], row, said)
        accepted = None
        if drawn is not None and node in children:
            q_V = drawn.q_BPV[b, int(drawn.source_BN[b, node])].to(p_V.device)
            tried = [tokens_N[child] for child in children[node]]
            u_C = lots_TC[len(said)][: len(tried)]
            accepted, p_V = try_children(p_V, q_V, tried, u_C, replacement=bool(drawn.replacement_B[b]))
        if accepted is None:
            return Accepted(tuple(path), (*said, _drawn_from(p_V, row.seed, first + len(said))))
        path.append(children[node][accepted])
        said.append(tokens_N[path[-1]])


def try_children(
    p_V: torch.Tensor, q_V: torch.Tensor, tokens_C: Sequence[int], u_C: Sequence[float], *, replacement: bool
) -> tuple[int | None, torch.Tensor]:
    """Which of the children drawn from ``q_V`` is accepted, if any, and else what the token has to be drawn from.

    ``u_C`` are independent uniform numbers in (0, 1). Child i is accepted if u_i < p(x)/q(x). Else p becomes norm((p - q)+), and,
    without replacement, q becomes norm(q without x), from which the next child was drawn.
    """
    for child, (token, u) in enumerate(zip(tokens_C, u_C, strict=True)):
        p, q = float(p_V[token]), float(q_V[token])
        if q <= 0:  # not drawn from q, which had no token left
            continue
        if u * q < p:
            return child, p_V
        left_V = (p_V - q_V).clamp_(min=0)
        left = float(left_V.sum())
        if left > 0:  # nothing is left only if p and q are equal but for rounding
            p_V = left_V / left
        if not replacement:
            rest_V = q_V.index_fill(0, torch.tensor([token], device=q_V.device), 0.0)
            rest = float(rest_V.sum())
            q_V = rest_V / rest if rest > 0 else rest_V
    return None, p_V


def _children(tree: CandidateTree, b: int) -> dict[int, list[int]]:
    """Of each node whose children were drawn, in the order of the draws."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    if tree.drawn is not None:
        source_N = tree.drawn.source_BN[b].tolist()
        for node, (token, parent) in enumerate(zip(tree.tokens_BN[b].tolist(), tree.parent_BN[b].tolist(), strict=True)):
            if node and token >= 0 and source_N[parent] >= 0:
                children[parent].append(node)
    return children


def _lots(seed: int, first: int, positions: int, children: int) -> list[list[float]]:
    """A uniform number for each child that can be tried at each position from ``first`` on."""
    if not positions:
        return []
    seeds_C = torch.tensor([stream(seed, "accept", child) for child in range(children)])
    at_T = torch.arange(first, first + positions)
    flat = uniform(seeds_C.repeat(positions), at_T.repeat_interleave(children), torch.zeros(1, 1, dtype=torch.int64))
    lots: list[list[float]] = flat.view(positions, children).tolist()
    return lots


def _drawn_from(p_V: torch.Tensor, seed: int, position: int) -> int:
    ids_C = p_V.nonzero()[:, 0]
    seed_1 = torch.tensor([stream(seed, "residual")], device=p_V.device)
    noise_C = gumbel(seed_1, torch.full_like(seed_1, position), ids_C[None])[0]
    return int(ids_C[(p_V[ids_C].double().log() + noise_C).argmax()])
