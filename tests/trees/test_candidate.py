"""Candidate trees of a batch and their padding."""

import torch

from headstart.trees.candidate import PAD, CandidateTree
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
