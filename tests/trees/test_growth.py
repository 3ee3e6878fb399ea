"""Growing trees from probabilities: against a heap that grows one node at a time, and against trying all trees."""

import heapq
import itertools
import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headstart.errors import TreeError
from headstart.trees.candidate import PAD, CandidateTree
from headstart.trees.growth import LARGEST, Envelope
from headstart.trees.shape import Path

ROOT = 99


def table(seed: int, rows: int, depth: int, ranks: int, spread: float = 3.0) -> torch.Tensor:
    """Log probabilities, sorted along the ranks."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, depth, ranks + 3, generator=generator) * spread
    return logits.log_softmax(-1).sort(-1, descending=True).values[..., :ranks]


def tokens_of(rows: int, depth: int, ranks: int) -> torch.Tensor:
    """Guess r of depth d is 10 (d + 1) + r, so that a path can be read off its ids."""
    return (10 * torch.arange(1, depth + 1)[:, None] + torch.arange(ranks)).expand(rows, -1, -1)


def grow(log_worth_BKR: torch.Tensor, nodes: int, limits: list[tuple[int, int]] | None = None) -> CandidateTree:
    rows, depth, ranks = log_worth_BKR.shape
    envelope = Envelope.of(nodes, depth, ranks)
    limits_B2 = torch.tensor(limits or [(nodes, depth)] * rows)
    return envelope.grow(tokens_of(rows, depth, ranks), log_worth_BKR, torch.full((rows,), ROOT), limits_B2)


def paths_of(tree: CandidateTree, row: int) -> list[Path]:
    """Rank paths in the order of the nodes, read from ids and parents; the root and padding left out."""
    tokens, parents = tree.tokens_BN[row].tolist(), tree.parent_BN[row].tolist()
    paths: list[Path] = [()]
    for node in range(1, len(tokens)):
        if tokens[node] != PAD:
            assert parents[node] < node
            paths.append((*paths[parents[node]], tokens[node] % 10))
            assert tokens[node] // 10 == len(paths[-1]) == tree.depth_BN[row, node]
    return paths[1:]


def by_heap(log_worth_KR: list[list[float]], nodes: int) -> list[float]:
    """Worths of the best paths, one node at a time."""
    frontier = [(-log_worth_KR[0][rank], (rank,)) for rank in range(len(log_worth_KR[0]))]
    heapq.heapify(frontier)
    worths = []
    while frontier and len(worths) < nodes - 1:
        cost, path = heapq.heappop(frontier)
        worths.append(-cost)
        if len(path) < len(log_worth_KR):
            for rank, worth in enumerate(log_worth_KR[len(path)]):
                heapq.heappush(frontier, (cost - worth, (*path, rank)))
    return worths


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 9), st.integers(2, 24))
def test_the_best_paths_are_taken(seed: int, depth: int, ranks: int, nodes: int) -> None:
    """The envelope misses nothing: worths are those of a heap that may take any path."""
    log_worth_BKR = table(seed, 2, depth, ranks)
    tree = grow(log_worth_BKR, nodes)
    for row in range(2):
        worths = [sum(float(log_worth_BKR[row, d, rank]) for d, rank in enumerate(path)) for path in paths_of(tree, row)]
        assert worths == pytest.approx(by_heap(log_worth_BKR[row].tolist(), nodes), abs=1e-5)


@pytest.mark.parametrize("seed", range(20))
def test_no_tree_of_the_size_is_worth_more(seed: int) -> None:
    """All trees of five nodes over two depths and three ranks, by brute force."""
    log_worth_BKR = table(seed, 1, 2, 3)
    log_worth_KR = log_worth_BKR[0].tolist()
    every = [(r,) for r in range(3)] + list(itertools.product(range(3), repeat=2))

    def worth(paths: tuple[Path, ...]) -> float:
        return sum(math.exp(sum(log_worth_KR[d][rank] for d, rank in enumerate(path))) for path in paths)

    trees = [chosen for chosen in itertools.combinations(every, 4) if all(p[:-1] in chosen for p in chosen if len(p) > 1)]
    assert worth(tuple(paths_of(grow(log_worth_BKR, 5), 0))) == pytest.approx(max(map(worth, trees)), rel=1e-6)


def test_sure_guesses_make_a_chain_and_unsure_ones_a_fan() -> None:
    sure = torch.tensor([[0.97, 0.02], [0.95, 0.03], [0.9, 0.05]]).log()
    unsure = torch.tensor([[0.3, 0.28], [0.05, 0.04], [0.05, 0.04]]).log()
    tree = grow(torch.stack([sure, unsure]), 4)
    assert paths_of(tree, 0) == [(0,), (0, 0), (0, 0, 0)]
    assert paths_of(tree, 1) == [(0,), (1,), (0, 0)]
    assert tree.ancestors_BNN[0].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 1, 1]]
    assert tree.ancestors_BNN[1].int().tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 1]]
    assert tree.depth_BN.tolist() == [[0, 1, 2, 3], [0, 1, 1, 2]]


@pytest.mark.parametrize("value", [0.0, -1e30, -100.0])
def test_ties_and_extremes_keep_parents_first(value: float) -> None:
    """Certain guesses (log worth 0) tie with their children, hopeless ones lose all differences to rounding."""
    tree = grow(torch.full((1, 3, 4), value), 12)
    assert len(paths_of(tree, 0)) == 11  # parents first and no path twice is checked in paths_of
    assert len(set(paths_of(tree, 0))) == 11


def test_what_is_no_number_is_left_out() -> None:
    """Heads that overflow cost guesses, and never the root its place: row 0 has no second head, row 1 none, row 2 is whole."""
    log_worth_BKR = table(3, 1, 3, 4).repeat(3, 1, 1)
    log_worth_BKR[0, 1] = log_worth_BKR[1] = float("nan")
    tree = grow(log_worth_BKR, 8)
    assert paths_of(tree, 0) == [(0,), (1,), (2,), (3,)]
    assert paths_of(tree, 1) == []
    assert paths_of(tree, 2) == paths_of(grow(log_worth_BKR[2:], 8), 0)
    assert tree.tokens_BN[:, 0].tolist() == [ROOT] * 3
    assert tree.depth_BN[:, 0].tolist() == [0] * 3
    assert tree.parent_BN[:, 0].tolist() == [-1] * 3


def test_each_row_keeps_to_its_limits() -> None:
    log_worth_BKR = table(3, 1, 3, 4).expand(4, -1, -1)
    tree = grow(log_worth_BKR, 8, [(8, 3), (3, 3), (8, 1), (1, 3)])
    whole = paths_of(tree, 0)
    assert len(whole) == 7
    assert paths_of(tree, 1) == whole[:2]
    assert sorted(paths_of(tree, 2)) == [(0,), (1,), (2,), (3,)]  # there are only four guesses of depth 1
    assert paths_of(tree, 3) == []
    assert tree.tokens_BN[:, 0].tolist() == [ROOT] * 4
    for row, used in enumerate((8, 3, 5, 1)):
        padding = tree.ancestors_BNN[row, used:]
        assert torch.equal(padding, torch.eye(8, dtype=torch.bool)[used:]), "padding is seen by nobody and sees itself"
        assert not tree.ancestors_BNN[row, :used, used:].any()
        assert tree.depth_BN[row, used:].tolist() == tree.parent_BN[row, used:].tolist() == [0] * (8 - used)


def test_fewer_guesses_than_nodes() -> None:
    """One depth and two guesses make three nodes, however many were asked for."""
    tree = grow(table(0, 1, 1, 2), 16)
    assert tree.tokens_BN.tolist() == [[ROOT, 10, 11]]


def test_the_envelope_is_small() -> None:
    """Dominated paths are counted, not every combination: 31 paths for 8 nodes instead of 7 + 7^2 + 7^3 + 7^4."""
    assert len(Envelope.of(8, 4, 7).shape) == 32
    assert len(Envelope.of(1, 4, 7).shape) == 1


@pytest.mark.parametrize("nodes", [0, LARGEST + 1])
def test_sizes_that_make_no_sense(nodes: int) -> None:
    with pytest.raises(TreeError, match=f"of {nodes} nodes was asked for; expected 1"):
        Envelope.of(nodes, 2, 2)


def test_rows_do_not_change_each_other() -> None:
    log_worth_BKR = table(5, 6, 4, 8)
    together = grow(log_worth_BKR, 16)
    order = random.Random(0).sample(range(6), 6)
    for row in order:
        alone = grow(log_worth_BKR[row : row + 1], 16)
        assert torch.equal(alone.tokens_BN[0], together.tokens_BN[row])
        assert torch.equal(alone.ancestors_BNN[0], together.ancestors_BNN[row])
