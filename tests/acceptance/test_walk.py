"""The exact walk over tables of logits. The model is the table: what it would say at each node is written down."""

from collections.abc import Sequence

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.acceptance.walk import Accepted, walk
from headstart.sampling.params import SamplingParams
from headstart.sampling.processors import MinNewTokens
from headstart.sampling.row import RowSampling, choose
from headstart.trees.candidate import PAD, CandidateTree
from headstart.trees.shape import TreeShape

CPU = torch.device("cpu")
GREEDY = SamplingParams()

# the lesson's traced step: the root "click", two guesses of head 1, two of head 2 under each
CLICK, THE, ON, LINK, RESET, BUTTON, OTHER = range(7)
LESSON = TreeShape([[0], [1], [0, 0], [0, 1], [1, 0], [1, 1]])
LESSON_TOKENS = [CLICK, THE, ON, LINK, RESET, LINK, RESET]


def row(params: SamplingParams = GREEDY, seed: int = 0, generated: Sequence[int] = (CLICK,)) -> RowSampling:
    return RowSampling(params=params, seed=seed, prompt_length=4, generated=list(generated))


def saying(tokens_N: Sequence[int], vocab: int = 7) -> torch.Tensor:
    """Logits 1 x N x V of a model whose most likely token after node n is ``tokens_N[n]``."""
    return torch.nn.functional.one_hot(torch.tensor([list(tokens_N)]), vocab).float()


def tree_of(shape: TreeShape, *tokens_N: Sequence[int]) -> CandidateTree:
    return CandidateTree.of_shape(shape, torch.tensor([list(tokens) for tokens in tokens_N]))


class TestLesson:
    """The model says "the" after "click", "Reset" after "the" and "button" after "Reset"; elsewhere it says something else."""

    def test_the_tree_gives_three_tokens(self) -> None:
        logits = saying([THE, RESET, OTHER, OTHER, BUTTON, OTHER, OTHER])
        assert walk(tree_of(LESSON, LESSON_TOKENS), logits, [row()]) == [Accepted((0, 1, 4), (THE, RESET, BUTTON))]

    def test_the_chain_gives_two(self) -> None:
        """ "the" is accepted, "link" is not: "Reset" is the model's own token."""
        logits = saying([THE, RESET, OTHER])
        assert walk(tree_of(TreeShape.chain(2), [CLICK, THE, LINK]), logits, [row()]) == [Accepted((0, 1), (THE, RESET))]

    def test_the_worst_case_is_one(self) -> None:
        """Neither "the" nor "on", although the nodes below would have been right."""
        logits = saying([OTHER, RESET, LINK, BUTTON, BUTTON, BUTTON, BUTTON])
        assert walk(tree_of(LESSON, LESSON_TOKENS), logits, [row()]) == [Accepted((0,), (OTHER,))]

    def test_the_next_root_is_the_last_token(self) -> None:
        accepted = walk(tree_of(LESSON, LESSON_TOKENS), saying([THE, RESET, OTHER, OTHER, BUTTON, OTHER, OTHER]), [row()])[0]
        assert accepted is not None
        assert accepted.next_root == BUTTON


def test_a_token_counts_under_its_own_parent_only() -> None:
    """After "on" the model says "Reset"; node 4 is a "Reset" too, but under "the". Node 6 is the one."""
    logits = saying([ON, OTHER, RESET, OTHER, BUTTON, OTHER, THE])
    assert walk(tree_of(LESSON, LESSON_TOKENS), logits, [row()]) == [Accepted((0, 2, 6), (ON, RESET, THE))]


def test_plain_decoding_is_a_tree_of_the_root() -> None:
    assert walk(CandidateTree.roots_only(torch.tensor([CLICK])), saying([THE]), [row()]) == [Accepted((0,), (THE,))]


def test_nodes_may_come_in_any_order_below_their_parents() -> None:
    """A tree whose depth-first order puts [0, 0] before [1]: [1, 0] is reached all the same."""
    shape = TreeShape([[0], [0, 0], [1], [1, 0]])
    logits = saying([2, 9, 9, 4, 5], vocab=10)
    assert walk(tree_of(shape, [0, 1, 3, 2, 4]), logits, [row()]) == [Accepted((0, 3, 4), (2, 4, 5))]


@pytest.mark.parametrize("params", [GREEDY, SamplingParams(temperature=1e-6), SamplingParams(temperature=1e-6, top_p=0.5)])
def test_padding_is_never_accepted(params: SamplingParams) -> None:
    """The model says id 0 everywhere, to which a padding node is clamped before the embedding; its id stays -1."""
    logits = saying([0, 0, 0]) * 30
    tree = CandidateTree.assembled(1, [([0], CandidateTree.roots_only(torch.tensor([CLICK])))], CPU)
    padded = CandidateTree.assembled(
        2, [([0], CandidateTree.roots_only(torch.tensor([CLICK]))), ([1], tree_of(TreeShape.chain(2), [CLICK, 0, 3]))], CPU
    )
    assert padded.tokens_BN.tolist()[0] == [CLICK, PAD, PAD]
    assert walk(tree, logits[:, :1], [row(params)]) == [Accepted((0,), (0,))]
    expected = [Accepted((0,), (0,)), Accepted((0, 1), (0, 0))]  # row 1 holds a real 0, and that one is accepted
    assert walk(padded, logits.expand(2, -1, -1), [row(params), row(params)]) == expected


def test_a_row_of_padding_has_no_outcome() -> None:
    tree = CandidateTree.assembled(3, [([1], tree_of(TreeShape.chain(1), [CLICK, THE]))], CPU)
    logits = saying([THE, RESET]).expand(3, -1, -1)
    assert walk(tree, logits, [None, row(), None]) == [None, Accepted((0, 1), (THE, RESET)), None]
    assert walk(tree, logits, [None, None, None]) == [None, None, None]


def test_greedy_ties_go_to_the_lowest_id() -> None:
    assert walk(tree_of(TreeShape([[0], [1]]), [CLICK, ON, THE]), torch.zeros(1, 3, 7), [row()]) == [Accepted((0,), (0,))]


def test_min_new_tokens_counts_along_the_path() -> None:
    """The model says the end (id 6) at every node, and 1 next to it. One id is generated and four are asked for: the end is
    forbidden for the second, third and fourth id, so at the root and at depths 1 and 2, and at depth 3 it comes."""
    table = torch.zeros(1, 5, 7)
    table[..., 6], table[..., 1] = 9.0, 5.0
    limited = row()
    limited.processors.append(MinNewTokens(4, [6]))
    tree = tree_of(TreeShape.chain(4), [CLICK, 1, 1, 1, 1])
    assert walk(tree, table, [limited]) == [Accepted((0, 1, 2, 3), (1, 1, 1, 6))]
    assert walk(tree, table, [row()]) == [Accepted((0,), (6,))]


def test_processors_see_the_path_that_led_to_a_node() -> None:
    """Each id may be said once: after "click the" the model's favourite "the" is forbidden, at that node and below."""
    seen: list[list[int]] = []

    def once(logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        seen.append(list(generated))
        return logits_V.index_fill(-1, torch.tensor(generated), -torch.inf)

    table = torch.tensor([0.0, 9.0, 3.0, 2.0, 1.0, 0.0, 0.0]).expand(1, 3, 7)  # "the", else "on", else "link"
    strict = row()
    strict.processors.append(once)
    assert walk(tree_of(TreeShape.chain(2), [CLICK, THE, ON]), table, [strict]) == [Accepted((0, 1, 2), (THE, ON, LINK))]
    assert seen == [[CLICK], [CLICK, THE], [CLICK, THE, ON]]


def test_a_processor_runs_only_where_the_walk_goes() -> None:
    """Seven nodes, two of them reached."""
    calls = []

    def count(logits_V: torch.Tensor, generated: Sequence[int]) -> torch.Tensor:
        calls.append(1)
        return logits_V

    counted = row()
    counted.processors.append(count)
    walk(tree_of(LESSON, LESSON_TOKENS), saying([ON, OTHER, OTHER, OTHER, OTHER, OTHER, OTHER]), [counted])
    assert len(calls) == 2


def one_by_one(table_V: torch.Tensor, sampling: RowSampling, count: int) -> list[int]:
    """Plain decoding of a model that says the same at every position: the draws alone make the text."""
    said: list[int] = []
    for _ in range(count):
        said += choose(table_V[None], [sampling], [said])
    return said


@pytest.mark.parametrize("seed", range(6))
def test_sampled_tokens_are_those_of_plain_decoding(seed: int) -> None:
    """A chain that holds the very draws is accepted whole; one with the third wrong ends there, on the right third."""
    torch.manual_seed(seed)
    table = torch.randn(30)
    sampling = row(SamplingParams(temperature=0.9, top_k=20), seed=seed)
    said = one_by_one(table, sampling, 5)
    chain = TreeShape.chain(4)
    logits = table.expand(1, 5, -1)
    assert walk(tree_of(chain, [CLICK, *said[:4]]), logits, [sampling]) == [Accepted((0, 1, 2, 3, 4), tuple(said))]
    wrong = [*said[:2], (said[2] + 1) % 30, said[3]]
    assert walk(tree_of(chain, [CLICK, *wrong]), logits, [sampling]) == [Accepted((0, 1, 2), tuple(said[:3]))]


MIXED = [
    SamplingParams(),
    SamplingParams(temperature=1.0),
    SamplingParams(temperature=0.7, top_p=0.9),
    SamplingParams(temperature=1.2, top_k=5, min_p=0.01),
]


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 5), st.lists(st.integers(0, 2), min_size=1, max_size=3))
def test_any_tree_and_any_batch_give_what_plain_decoding_gives(seed: int, rows: int, widths: list[int]) -> None:
    """Random trees over a vocabulary of 4, so that guesses are often right; rows greedy, sampled, with processors, or None.

    The tokens of each row have to be the first of those that it draws one by one, as many as its path has nodes; and the
    walk may end only where no child holds the next of them.
    """
    generator = torch.Generator().manual_seed(seed)
    shape = TreeShape.full(widths)
    tokens = torch.randint(0, 4, (rows, len(shape)), generator=generator)
    for b in range(rows):  # siblings differ, as a drafter's guesses do
        for node in range(len(shape)):
            siblings = [n for n in range(len(shape)) if shape.parent_N[n] == node]
            tokens[b, siblings] = torch.randperm(4, generator=generator)[: len(siblings)]
    table = torch.randn(rows, 4, generator=generator)
    sampling: list[RowSampling | None] = []
    for b in range(rows):
        one = row(MIXED[(seed + b) % 4], seed=seed + b)
        if (seed + b) % 3 == 0:
            one.processors.append(MinNewTokens(3, [b % 4]))
        sampling.append(None if (seed + b) % 7 == 0 else one)
    outcomes = walk(CandidateTree.of_shape(shape, tokens), table[:, None].expand(-1, len(shape), -1), sampling)
    for b, (one_row, outcome) in enumerate(zip(sampling, outcomes, strict=True)):
        if one_row is None:
            assert outcome is None
            continue
        assert outcome is not None
        said = one_by_one(table[b], one_row, len(outcome.path))
        assert list(outcome.tokens) == said
        for parent, node, token in zip(outcome.path, outcome.path[1:], said, strict=False):
            assert shape.parent_N[node] == parent
            assert int(tokens[b, node]) == token
        last = outcome.path[-1]
        assert all(int(tokens[b, n]) != said[-1] for n in range(len(shape)) if shape.parent_N[n] == last)


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    """Four rows with different rules, together and alone."""
    torch.manual_seed(0)
    shape = TreeShape.full([3, 2])
    tokens = torch.stack([torch.randperm(12)[: len(shape)] for _ in range(4)])
    logits = torch.randn(4, len(shape), 12).to(torch.bfloat16)
    sampling: list[RowSampling | None] = [row(params, seed=b) for b, params in enumerate(MIXED)]
    together = walk(CandidateTree.of_shape(shape, tokens), logits, sampling)
    for b in range(4):
        assert walk(CandidateTree.of_shape(shape, tokens[b : b + 1]), logits[b : b + 1], [sampling[b]]) == [together[b]]


def test_the_walk_leaves_the_rows_as_they_were() -> None:
    """It is a pure function: what was generated is for the engine to move on, after it has cropped."""
    sampled = row(SamplingParams(temperature=1.0))
    walk(tree_of(LESSON, LESSON_TOKENS), saying([THE, RESET, OTHER, OTHER, BUTTON, OTHER, OTHER]), [sampled])
    assert sampled.generated == [CLICK]
