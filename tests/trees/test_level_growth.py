"""Trees grown level by level are the ones that are grown node by node, and ask only about nodes that could matter."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
import torch

from headstart.trees.best_first import Guess, grow
from headstart.trees.budget import Budget
from headstart.trees.candidate import PAD, CandidateTree
from headstart.trees.level_growth import LevelGrowth

CPU = torch.device("cpu")


@dataclass
class Random:
    """Guesses that depend on the row and the whole path; implements ``Continuations``."""

    row: int
    vocab: int
    asked: list[tuple[int, ...]] = field(default_factory=list)

    def after(self, path: tuple[int, ...]) -> list[Guess]:
        chooser = random.Random(f"{self.row} {path}")
        chances = sorted((chooser.random() ** 3 for _ in range(self.vocab)), reverse=True)
        tokens = chooser.sample(range(self.vocab), self.vocab)
        return [(token, chance / 2) for token, chance in zip(tokens, chances, strict=True)]


def by_levels(rows: Sequence[Random], roots: Sequence[int], limits: Sequence[tuple[int, int]]) -> CandidateTree:
    growth = LevelGrowth(torch.tensor(list(roots)), limits)
    ranks = max(1, min(growth.ranks, rows[0].vocab))
    while growth.has_open:
        row_M, path_Mk = growth.open_paths()
        tokens, worth = [], []
        for b, path in zip(row_M.tolist(), path_Mk.tolist(), strict=True):
            rows[b].asked.append(tuple(path))
            guesses = rows[b].after(tuple(path))[:ranks]
            tokens.append([token for token, _ in guesses])
            worth.append([math.log(chance) for _, chance in guesses])
        growth.extend(torch.tensor(tokens), torch.tensor(worth))
    return growth.tree()


def same(one: CandidateTree, other: CandidateTree) -> None:
    assert one.tokens_BN.tolist() == other.tokens_BN.tolist()
    assert one.parent_BN.tolist() == other.parent_BN.tolist()
    assert one.depth_BN.tolist() == other.depth_BN.tolist()
    assert one.ancestors_BNN.tolist() == other.ancestors_BNN.tolist()


@pytest.mark.parametrize("nodes", [1, 2, 3, 4, 7, 16, 40])
@pytest.mark.parametrize("depth", [0, 1, 3, 5])
def test_the_tree_is_the_best_one(nodes: int, depth: int) -> None:
    """The same as always adding the best path next. Chances are random numbers, so that none are equal."""
    for seed in range(8):
        rows = [Random(seed, 6)]
        same(by_levels(rows, [9], [(nodes, depth)]), grow([9], rows, [Budget(nodes, depth)], least=0.0, device=CPU))


def test_rows_with_limits_of_their_own() -> None:
    limits = [(12, 4), (1, 4), (2, 4), (3, 1), (12, 0), (30, 2), (5, 4)]
    roots = [20 + b for b in range(len(limits))]
    rows = [Random(b, 9) for b in range(len(limits))]
    tree = by_levels(rows, roots, limits)
    same(tree, grow(roots, rows, [Budget(*limit) for limit in limits], least=0.0, device=CPU))
    for b, limit in enumerate(limits):  # no row minds its neighbours
        alone = by_levels([Random(b, 9)], [roots[b]], [limit])
        assert tree.tokens_BN[b, : alone.nodes].tolist() == alone.tokens_BN[0].tolist()
        assert set(tree.tokens_BN[b, alone.nodes :].tolist()) <= {PAD}


def test_a_smaller_tree_is_a_prefix() -> None:
    large, small = (by_levels([Random(3, 8)], [9], [(nodes, 4)]) for nodes in (40, 11))
    assert large.tokens_BN[0, :11].tolist() == small.tokens_BN[0].tolist()
    assert large.parent_BN[0, :11].tolist() == small.parent_BN[0].tolist()


def test_nobody_asks_about_nodes_that_stay_without_children() -> None:
    """Of 8 nodes at most 6 besides the root can have a child, and on average it is far fewer; a node that is asked about was
    among the best 7 when it was found."""
    asked = []
    for seed in range(50):
        row = Random(seed, 7)
        by_levels([row], [9], [(8, 4)])
        assert all(sum(len(path) == k for path in row.asked) <= 6 for k in range(1, 4))
        asked.append(len(row.asked))
    assert sum(asked) / len(asked) < 10  # of 1 + 3 x 6


def test_children_as_likely_as_their_parents_come_after_them() -> None:
    """Every chance is 1: the worth of all nodes is equal, and parents still come before children."""
    growth = LevelGrowth(torch.tensor([9]), [(6, 3)])
    while growth.has_open:
        row_M, _ = growth.open_paths()
        growth.extend(torch.tensor([[1, 2]]).expand(len(row_M), -1), torch.zeros(len(row_M), 2))
    tree = growth.tree()
    assert tree.nodes == 6
    assert all(parent < node for node, parent in enumerate(tree.parent_BN[0].tolist()))
    assert all(tree.ancestors_BNN[0, n, p] for n, p in enumerate(tree.parent_BN[0].tolist()) if p >= 0)


def test_worths_that_are_no_numbers_are_left_out() -> None:
    growth = LevelGrowth(torch.tensor([9, 8]), [(4, 1), (4, 1)])
    nan = math.nan
    growth.extend(torch.tensor([[1, 2, 3], [4, 5, 6]]), torch.tensor([[nan, -1.0, nan], [nan, nan, nan]]))
    tree = growth.tree()
    assert tree.tokens_BN.tolist() == [[9, 2], [8, PAD]]
    assert tree.parent_BN.tolist() == [[-1, 0], [-1, 0]]
    assert tree.depth_BN.tolist() == [[0, 1], [0, 0]]
