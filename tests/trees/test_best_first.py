"""Trees grown best node first: against the growth for whole batches, and on guesses that depend on the path."""

from collections.abc import Mapping, Sequence

import pytest
import torch

from headstart.trees.best_first import Guess, grow
from headstart.trees.budget import Budget
from headstart.trees.candidate import PAD, CandidateTree
from headstart.trees.growth import Envelope

CPU = torch.device("cpu")


class Known:
    """Guesses given by the path before them."""

    def __init__(self, guesses: Mapping[tuple[int, ...], Sequence[Guess]]) -> None:
        self._guesses = guesses
        self.asked: list[tuple[int, ...]] = []

    def after(self, path: tuple[int, ...]) -> Sequence[Guess]:
        self.asked.append(path)
        return self._guesses.get(path, ())


class ByDepth:
    """Guess r of depth d is 10 (d + 1) + r."""

    def __init__(self, chance_KR: torch.Tensor) -> None:
        self._chance_KR: list[list[float]] = chance_KR.tolist()

    def after(self, path: tuple[int, ...]) -> Sequence[Guess]:
        depth = len(path)
        return [(10 * (depth + 1) + r, p) for r, p in enumerate(self._chance_KR[depth])] if depth < len(self._chance_KR) else ()


SPLIT = {(): [(1, 0.6), (2, 0.3)], (1,): [(3, 0.4)], (2,): [(3, 0.9), (4, 0.1)], (2, 3): [(5, 0.5)]}


def one(
    guesses: Mapping[tuple[int, ...], Sequence[Guess]], nodes: int, depth: int = 9, least: float = 0.0, price: float = 0.0
) -> CandidateTree:
    return grow([0], [Known(guesses)], [Budget(nodes, depth, price)], least=least, device=CPU)


def test_nodes_come_by_the_product_of_chances() -> None:
    """Worths: 1 0.6, 2 0.3, 2-3 0.27, 1-3 0.24, 2-3-5 0.135, 2-4 0.03."""
    tree = one(SPLIT, 99)
    assert tree.tokens_BN.tolist() == [[0, 1, 2, 3, 3, 5, 4]]
    assert tree.parent_BN.tolist() == [[-1, 0, 0, 2, 1, 3, 2]]
    assert tree.depth_BN.tolist() == [[0, 1, 1, 2, 2, 3, 2]]
    seen = [{0}, {0, 1}, {0, 2}, {0, 2, 3}, {0, 1, 4}, {0, 2, 3, 5}, {0, 2, 6}]
    assert [set(row.nonzero().flatten().tolist()) for row in tree.ancestors_BNN[0]] == seen


@pytest.mark.parametrize(
    ("nodes", "depth", "least", "tokens"),
    [
        (1, 9, 0.0, [0]),
        (4, 9, 0.0, [0, 1, 2, 3]),
        (99, 1, 0.0, [0, 1, 2]),
        (99, 0, 0.0, [0]),
        (99, 9, 0.25, [0, 1, 2, 3]),  # 1-3 is worth 0.24
        (99, 9, 0.7, [0]),
    ],
)
def test_limits(nodes: int, depth: int, least: float, tokens: list[int]) -> None:
    assert one(SPLIT, nodes, depth, least).tokens_BN.tolist() == [tokens]


def test_rows_have_their_own_limits_and_are_padded() -> None:
    tree = grow(
        [7, 8, 9], [Known(SPLIT), Known(SPLIT), Known({})], [Budget(2, 9), Budget(4, 9), Budget(4, 9)], least=0.0, device=CPU
    )
    assert tree.tokens_BN.tolist() == [[7, 1, PAD, PAD], [8, 1, 2, 3], [9, PAD, PAD, PAD]]
    assert tree.parent_BN.tolist() == [[-1, 0, 0, 0], [-1, 0, 0, 2], [-1, 0, 0, 0]]
    assert tree.depth_BN.tolist() == [[0, 1, 0, 0], [0, 1, 1, 2], [0, 0, 0, 0]]
    assert torch.equal(tree.ancestors_BNN[2], torch.eye(4, dtype=torch.bool))  # padding is seen by itself alone


def test_only_what_may_have_children_is_asked() -> None:
    known = Known(SPLIT)
    grow([0], [known], [Budget(3, 2)], least=0.0, device=CPU)
    assert known.asked == [(), (1,)]  # the tree is full when 2 is in it


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("nodes", [2, 8, 30])
def test_the_same_trees_as_the_batched_growth(nodes: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(2, 3, 12, generator=generator) * 3
    log_worth_BKR = logits.log_softmax(-1).sort(-1, descending=True).values[..., :9]
    tokens_BKR = (10 * torch.arange(1, 4)[:, None] + torch.arange(9)).expand(2, -1, -1)
    batched = Envelope.of(nodes, 3, 9).grow(tokens_BKR, log_worth_BKR, torch.tensor([1, 2]), torch.tensor([[nodes, 3]] * 2))
    alone = grow([1, 2], [ByDepth(row.double().exp()) for row in log_worth_BKR], [Budget(nodes, 3)] * 2, least=0.0, device=CPU)
    for name in ("tokens_BN", "parent_BN", "depth_BN", "ancestors_BNN"):
        assert torch.equal(getattr(alone, name), getattr(batched, name)), name


@pytest.mark.parametrize("price", [0.0, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0])
def test_a_tree_ends_where_it_gives_most_tokens_for_its_time(price: float) -> None:
    """Worths in order: 0.6, 0.3, 0.27, 0.24, 0.135, 0.03; a pass over n nodes takes 1 + price (n - 1)."""
    worths = [0.6, 0.3, 0.27, 0.24, 0.135, 0.03]
    rates = [(1 + sum(worths[:count])) / (1 + price * count) for count in range(len(worths) + 1)]
    best = max(range(len(rates)), key=rates.__getitem__)
    assert one(SPLIT, 99, price=price).tokens_BN.shape == (1, 1 + best)
