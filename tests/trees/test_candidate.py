"""Candidate trees of a batch and their padding."""

import torch

from headstart.trees.candidate import PAD, CandidateTree
from headstart.trees.drawn import Drawn
from headstart.trees.shape import TreeShape

CPU = torch.device("cpu")


def test_rows_of_one_shape() -> None:
    shape = TreeShape([[0], [0, 0], [1]])
    tree = CandidateTree.of_shape(shape, torch.tensor([[5, 6, 7, 8], [1, 2, 3, 4]]))
    assert (tree.rows, tree.nodes) == (2, 4)
    assert tree.parent_BN.tolist() == [[-1, 0, 1, 0]] * 2
    assert tree.depth_BN.tolist() == [[0, 1, 2, 1]] * 2
    assert torch.equal(tree.ancestors_BNN[1], shape.ancestors_NN)


def test_roots_only_is_plain_decoding() -> None:
    tree = CandidateTree.roots_only(torch.tensor([3, 9]))
    assert tree.tokens_BN.tolist() == [[3], [9]]
    assert tree.parent_BN.tolist() == [[-1], [-1]]
    assert tree.ancestors_BNN.tolist() == [[[True]], [[True]]]


def test_parts_are_joined_with_padding_that_nobody_sees() -> None:
    chain = CandidateTree.of_shape(TreeShape.chain(2), torch.tensor([[10, 11, 12]]))
    roots = CandidateTree.roots_only(torch.tensor([20, 30]))
    tree = CandidateTree.assembled(4, [([2], chain), ([0, 3], roots)], CPU)
    assert tree.tokens_BN.tolist() == [[20, PAD, PAD], [PAD, PAD, PAD], [10, 11, 12], [30, PAD, PAD]]
    assert tree.parent_BN.tolist() == [[-1, 0, 0], [-1, 0, 0], [-1, 0, 1], [-1, 0, 0]]
    assert tree.depth_BN.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 2], [0, 0, 0]]
    for padded in (0, 1, 3):
        assert torch.equal(tree.ancestors_BNN[padded], torch.eye(3, dtype=torch.bool))
    assert torch.equal(tree.ancestors_BNN[2], TreeShape.chain(2).ancestors_NN)


def test_rows_are_put_where_the_part_says() -> None:
    roots = CandidateTree.roots_only(torch.tensor([1, 2]))
    assert CandidateTree.assembled(2, [([1, 0], roots)], CPU).tokens_BN.tolist() == [[2], [1]]


def test_one_part_that_is_everything_is_passed_on() -> None:
    tree = CandidateTree.of_shape(TreeShape.chain(1), torch.tensor([[1, 2], [3, 4]]))
    assert CandidateTree.assembled(2, [([0, 1], tree)], CPU) is tree


def test_no_part_at_all_is_padding() -> None:
    assert CandidateTree.assembled(2, [], CPU).tokens_BN.tolist() == [[PAD], [PAD]]


def test_a_joined_tree_is_where_it_was_asked_for() -> None:
    """Roots alone come from the CPU wherever the model is; "meta" stands for an accelerator."""
    meta = torch.device("meta")
    roots = CandidateTree.roots_only(torch.tensor([5]))
    for rows, parts in ((1, [([0], roots)]), (2, [([1], roots)])):
        tree = CandidateTree.assembled(rows, parts, meta)
        assert {x.device for x in (tree.tokens_BN, tree.parent_BN, tree.depth_BN, tree.ancestors_BNN)} == {meta}
    assert roots.to(torch.device("cpu")) is roots


def with_drawn(tree: CandidateTree, drawn: Drawn) -> CandidateTree:
    return CandidateTree(tree.tokens_BN, tree.parent_BN, tree.depth_BN, tree.ancestors_BNN, drawn)


def test_what_candidates_were_drawn_from_is_joined_as_well() -> None:
    """Parts with two and one distribution, and one whose candidates were not drawn."""
    two = Drawn(torch.tensor([[[0.25, 0.75], [1.0, 0.0]]]), torch.tensor([[0, 1, -1]]), torch.tensor([True]))
    one = Drawn(torch.tensor([[[0.5, 0.5]]]), torch.tensor([[0, -1]]), torch.tensor([False]))
    parts = [
        ([2], with_drawn(CandidateTree.of_shape(TreeShape.chain(2), torch.tensor([[0, 1, 0]])), two)),
        ([0], with_drawn(CandidateTree.of_shape(TreeShape.chain(1), torch.tensor([[1, 1]])), one)),
        ([1], CandidateTree.of_shape(TreeShape.chain(1), torch.tensor([[0, 0]]))),
    ]
    drawn = CandidateTree.assembled(3, parts, CPU).drawn
    assert drawn is not None
    assert drawn.source_BN.tolist() == [[0, -1, -1], [-1, -1, -1], [0, 1, -1]]
    assert drawn.q_BPV.tolist() == [[[0.5, 0.5], [0, 0]], [[0, 0], [0, 0]], [[0.25, 0.75], [1.0, 0.0]]]
    assert drawn.replacement_B.tolist() == [False, False, True]
    assert CandidateTree.assembled(2, parts[2:], CPU).drawn is None


def test_what_candidates_were_drawn_from_moves_with_the_tree() -> None:
    one = Drawn(torch.tensor([[[0.5, 0.5]]]), torch.tensor([[0, -1]]), torch.tensor([False]))
    moved = with_drawn(CandidateTree.of_shape(TreeShape.chain(1), torch.tensor([[1, 1]])), one).to(torch.device("meta")).drawn
    assert moved is not None
    assert {x.device.type for x in (moved.q_BPV, moved.source_BN, moved.replacement_B)} == {"meta"}
