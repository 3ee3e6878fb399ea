"""The ``typical`` rule over tables of logits: what it accepts, and how far it is from the model's distribution."""

import math
from collections.abc import Sequence

import pytest
import torch
from scipy.stats import chisquare

from headstart.acceptance.typical import Typical
from headstart.acceptance.walk import walk
from headstart.errors import InvalidParameterError
from headstart.sampling.params import SamplingParams
from headstart.sampling.processors import MinNewTokens
from headstart.sampling.row import RowSampling, choose
from headstart.trees.candidate import PAD, CandidateTree
from headstart.trees.shape import TreeShape

ROOT = 9
WARM = SamplingParams(temperature=1.0)


def row(params: SamplingParams = WARM, seed: int = 0) -> RowSampling:
    return RowSampling(params=params, seed=seed, prompt_length=4, generated=[ROOT])


def tree_of(shape: TreeShape, tokens: Sequence[int]) -> CandidateTree:
    return CandidateTree.of_shape(shape, torch.tensor([list(tokens)]))


def table(*p_N: Sequence[float]) -> torch.Tensor:
    """Logits 1 x N x V of a model with the given probabilities at each node."""
    return torch.tensor([list(p_N)]).log()


def path(rule: Typical, tree: CandidateTree, logits: torch.Tensor, sampling: RowSampling) -> tuple[int, ...]:
    (accepted,) = rule.accept(tree, logits, [sampling])
    assert accepted is not None
    assert accepted.tokens[:-1] == tuple(int(tree.tokens_BN[0, node]) for node in accepted.path[1:])
    said = [int(tree.tokens_BN[0, node]) for node in accepted.path[1:]]
    assert accepted.tokens[-1] == choose(logits[0, accepted.path[-1]][None], [sampling], [said])[0]  # the exact rule's token
    return accepted.path


class TestBound:
    def test_an_undecided_model_asks_little(self) -> None:
        """Four equal tokens: H = log 4, so the bound is 0.3 / 4 = 0.075 and not 0.09."""
        assert Typical().bound(torch.tensor([0.25] * 4).log()) == pytest.approx(0.075)

    def test_a_sure_model_asks_for_epsilon(self) -> None:
        assert Typical().bound(torch.tensor([1.0, 0.0]).log()) == 0.09
        assert Typical(epsilon=0.5, delta=0.2).bound(torch.tensor([1.0, 0.0]).log()) == pytest.approx(0.2)

    def test_a_guess_at_the_bound_is_refused(self) -> None:
        """p has to be larger. Binary fractions, so that nothing is rounded: p = 1/2 against epsilon 1/2."""
        logits = torch.tensor([[[1.0, 1.0], [1.0, 1.0]]])
        tree = tree_of(TreeShape.chain(1), [ROOT, 0])
        assert path(Typical(epsilon=0.5, delta=9.0), tree, logits, row()) == (0,)
        assert path(Typical(epsilon=0.499, delta=9.0), tree, logits, row()) == (0, 1)


class TestPath:
    P = (0.05, 0.35, 0.6)  # H = 0.82, exp(-H) = 0.44, so the bound is 0.09: only 0 is unlikely

    def test_the_longest_path_wins(self) -> None:
        """2 is likelier than 1, but only under 1 there is a second guess that passes."""
        shape = TreeShape([[0], [1], [0, 0], [1, 0]])
        tree = tree_of(shape, [ROOT, 2, 1, 0, 1])
        assert path(Typical(), tree, table(*[self.P] * 5), row()) == (0, 2, 4)

    def test_of_equally_long_ones_the_likelier(self) -> None:
        shape = TreeShape([[0], [1], [0, 0], [1, 0]])
        assert path(Typical(), tree_of(shape, [ROOT, 1, 2, 2, 1]), table(*[self.P] * 5), row()) == (0, 1, 3)  # equal: the first
        assert path(Typical(), tree_of(shape, [ROOT, 1, 2, 1, 1]), table(*[self.P] * 5), row()) == (0, 2, 4)
        assert path(Typical(), tree_of(shape, [ROOT, 1, 2, 2, 2]), table(*[self.P] * 5), row()) == (0, 2, 4)

    def test_nothing_below_a_refused_guess(self) -> None:
        assert path(Typical(), tree_of(TreeShape.chain(2), [ROOT, 0, 2]), table(*[self.P] * 3), row()) == (0,)

    def test_padding_is_never_accepted(self) -> None:
        tree = tree_of(TreeShape.chain(1), [ROOT, PAD])
        assert path(Typical(), tree, table((0.0, 0.0, 1.0), (1.0, 0.0, 0.0)), row()) == (0,)  # the last id is certain, and -1

    def test_what_filters_drop_is_never_accepted(self) -> None:
        tree = tree_of(TreeShape.chain(1), [ROOT, 1])
        assert path(Typical(), tree, table(*[self.P] * 2), row(SamplingParams(temperature=1.0, top_k=2))) == (0, 1)
        for params in ({"top_k": 1}, {"top_p": 0.5}, {"min_p": 0.9}):
            assert path(Typical(), tree, table(*[self.P] * 2), row(SamplingParams(temperature=1.0, **params))) == (0,)

    def test_p_is_after_processors_with_the_nodes_own_path(self) -> None:
        """Id 2 may not come before the third new token: refused after one or two, accepted after three."""
        sampling = row()
        sampling.processors.append(MinNewTokens(2, [2]))
        assert path(Typical(), tree_of(TreeShape.chain(2), [ROOT, 2, 2]), table(*[self.P] * 3), sampling) == (0,)
        assert path(Typical(), tree_of(TreeShape.chain(2), [ROOT, 1, 2]), table(*[self.P] * 3), sampling) == (0, 1, 2)

    def test_p_is_after_temperature(self) -> None:
        """At temperature 0.1 the ratio of 0.6 to 0.35 is taken to the tenth power: 0.35 becomes 0.005."""
        tree = tree_of(TreeShape.chain(1), [ROOT, 1])
        assert path(Typical(), tree, table(*[self.P] * 2), row(SamplingParams(temperature=0.1))) == (0,)


@pytest.mark.parametrize("seed", range(20))
def test_at_temperature_0_it_is_exact(seed: int) -> None:
    """Random trees over four tokens, so that half of the steps accept something; one row of padding."""
    generator = torch.Generator().manual_seed(seed)
    shape = TreeShape.full([3, 2, 2])
    tokens = torch.randint(0, 4, (3, len(shape)), generator=generator)
    logits = torch.randn(3, len(shape), 4, generator=generator)
    tree = CandidateTree.of_shape(shape, tokens)
    rows = [row(SamplingParams()), None, row(SamplingParams(top_k=2))]
    assert Typical().accept(tree, logits, rows) == walk(tree, logits, rows)


def test_rows_do_not_depend_on_their_neighbours() -> None:
    generator = torch.Generator().manual_seed(3)
    shape = TreeShape.full([3, 2])
    tree = CandidateTree.of_shape(shape, torch.randint(0, 6, (4, len(shape)), generator=generator))
    logits = torch.randn(4, len(shape), 6, generator=generator)
    rows = [row(WARM, 1), row(SamplingParams(), 2), None, row(SamplingParams(temperature=0.7, top_p=0.9), 3)]
    together = Typical().accept(tree, logits, rows)
    for b in (0, 1, 3):
        alone = CandidateTree.of_shape(shape, tree.tokens_BN[b : b + 1])
        assert Typical().accept(alone, logits[b : b + 1], [rows[b]]) == [together[b]]


def test_it_is_not_exact_and_how_far_off() -> None:
    """The model says .4, .3, .2, .1 and the drafter always guesses id 1. Exactly accepted, id 1 comes with probability .3;
    typically accepted it comes always, for .3 is above every bound: a distance in total variation of .7, the largest that there is
    for this guess. 2,000 seeds; the exact draws fail the test with probability 1e-6 for fresh seeds, and never for these."""
    p, draws = (0.4, 0.3, 0.2, 0.1), 2000
    tree = CandidateTree.of_shape(TreeShape.chain(1), torch.tensor([[ROOT, 1]] * draws))
    logits = table(p, p).expand(draws, -1, -1)
    rows = [row(seed=seed) for seed in range(draws)]
    counts = {"exact": [0] * 4, "typical": [0] * 4}
    for name, outcomes in (("exact", walk(tree, logits, rows)), ("typical", Typical().accept(tree, logits, rows))):
        for accepted in outcomes:
            assert accepted is not None
            counts[name][accepted.tokens[0]] += 1
    assert counts["typical"] == [0, draws, 0, 0]
    expected = [draws * x for x in p]
    assert chisquare(counts["exact"], expected).pvalue > 1e-6
    assert chisquare(counts["typical"], expected).pvalue < 1e-300
    distance = sum(abs(n / draws - x) for n, x in zip(counts["typical"], p)) / 2
    assert distance == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"epsilon": 0.0}, r"epsilon is 0.0; expected a probability in \(0, 1\)"),
        ({"epsilon": math.nan}, "epsilon is nan"),
        ({"delta": 0.0}, "delta is 0.0; expected a number above 0"),
        ({"delta": math.inf}, "delta is inf"),
    ],
)
def test_mistakes(values: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        Typical(**values)
