"""Masks of a pass, against loops over rows, nodes and slots."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.models.masks import Reach, pass_masks
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape

SHAPES = [TreeShape([]), TreeShape.chain(3), TreeShape.full([2, 2]), TreeShape([[0], [0, 0], [1], [0, 0, 0], [1, 0]])]
REACHES = {
    "full_attention": Reach(),
    "sliding_attention": Reach(window=3),
    "chunked_attention": Reach(chunk=4),
    "one": Reach(window=1),
}


def naive(lengths: list[int], tree: CandidateTree, reach: Reach) -> list[list[list[bool]]]:
    """What each node of each row sees, slot by slot."""
    nodes, slots = tree.nodes, max(lengths) + tree.nodes
    seen = []
    for row, length in enumerate(lengths):
        seen.append([[False] * slots for _ in range(nodes)])
        for node in range(nodes):
            own = length + int(tree.depth_BN[row, node])
            for slot in range(length + nodes):
                other = slot - length
                position = slot if other < 0 else length + int(tree.depth_BN[row, other])
                sees = other < 0 or bool(tree.ancestors_BNN[row, node, other])
                if reach.window is not None:
                    sees = sees and own - position < reach.window
                if reach.chunk is not None:
                    sees = sees and own // reach.chunk == position // reach.chunk
                seen[row][node][slot] = sees
    return seen


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.sampled_from(range(len(SHAPES)))), min_size=1, max_size=4))
def test_masks_equal_the_loops(rows: list[tuple[int, int]]) -> None:
    """Rows of different lengths and trees, joined with padding; windows and chunks shorter and longer than the context."""
    trees = [CandidateTree.of_shape(SHAPES[kind], torch.full((1, len(SHAPES[kind])), 5)) for _, kind in rows]
    tree = CandidateTree.assembled(len(rows), [([b], part) for b, part in enumerate(trees)], torch.device("cpu"))
    lengths = [length for length, _ in rows]
    masks = pass_masks(lengths, tree.depth_BN, tree.ancestors_BNN, REACHES, torch.float32)
    assert list(masks) == list(REACHES)
    for kind, reach in REACHES.items():
        assert masks[kind].shape == (len(rows), 1, tree.nodes, max(lengths) + tree.nodes)
        assert (masks[kind] == 0)[:, 0].tolist() == naive(lengths, tree, reach)


def test_a_window_by_hand() -> None:
    """Context of 4, chain of 2 below the root at positions 4, 5, 6; a window of 3 sees the own position and two before."""
    shape = TreeShape.chain(2)
    tree = CandidateTree.of_shape(shape, torch.tensor([[1, 2, 3]]))
    mask = pass_masks([4], tree.depth_BN, tree.ancestors_BNN, {"sliding_attention": Reach(window=3)}, torch.float32)
    assert (mask["sliding_attention"][0, 0] == 0).int().tolist() == [
        [0, 0, 1, 1, 1, 0, 0],
        [0, 0, 0, 1, 1, 1, 0],
        [0, 0, 0, 0, 1, 1, 1],
    ]


def test_a_window_is_measured_in_positions_and_not_in_slots() -> None:
    """Two children of the root in slots 3 and 4, both at position 3: with a window of 2 each sees the root and itself."""
    tree = CandidateTree.of_shape(TreeShape([[0], [1]]), torch.tensor([[1, 2, 3]]))
    mask = pass_masks([2], tree.depth_BN, tree.ancestors_BNN, {"sliding_attention": Reach(window=2)}, torch.float32)
    assert (mask["sliding_attention"][0, 0] == 0).int().tolist() == [[0, 1, 1, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 0, 1]]


def test_a_chunk_by_hand() -> None:
    """Chunks of 4: the root at position 3 is the last of its chunk, its child at 4 sees itself alone."""
    tree = CandidateTree.of_shape(TreeShape.chain(1), torch.tensor([[1, 2]]))
    mask = pass_masks([3], tree.depth_BN, tree.ancestors_BNN, {"chunked_attention": Reach(chunk=4)}, torch.float32)
    assert (mask["chunked_attention"][0, 0] == 0).int().tolist() == [[1, 1, 1, 1, 0], [0, 0, 0, 0, 1]]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_hidden_slots_have_the_lowest_finite_number(dtype: torch.dtype) -> None:
    """Not -inf: a block of slots that is hidden as a whole would turn into NaN."""
    tree = CandidateTree.roots_only(torch.tensor([1, 2]))
    mask = pass_masks([0, 2], tree.depth_BN, tree.ancestors_BNN, {"full_attention": Reach()}, dtype)["full_attention"]
    assert mask.dtype == dtype
    low = torch.finfo(dtype).min
    assert mask[:, 0, 0].tolist() == [[0, low, low], [0, 0, 0]]


def test_every_node_sees_something() -> None:
    """Itself at least, padding included: a row of nothing but hidden slots has no softmax."""
    tree = CandidateTree.assembled(
        2, [([1], CandidateTree.of_shape(TreeShape.chain(3), torch.tensor([[1, 2, 3, 4]])))], torch.device("cpu")
    )
    for mask in pass_masks([6, 1], tree.depth_BN, tree.ancestors_BNN, REACHES, torch.float32).values():
        assert bool((mask == 0).any(-1).all())
