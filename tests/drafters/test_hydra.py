"""The Hydra drafter: heads that read the path, and the trees that come of it. Expected guesses are those of all heads run in
full over every path of a tree by themselves."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from headstart.drafters.combined import CombinedDrafter
from headstart.drafters.gain import Gain
from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.hydra import HydraDrafter
from headstart.drafters.hydra_guesses import HydraGuesses
from headstart.drafters.hydra_source import HydraOfRow, HydraSource
from headstart.drafters.hydra_trees import GrownLevels, StaticLevels
from headstart.drafters.ngram import NgramDrafter
from headstart.drafters.packed_heads import PackedHeads
from headstart.errors import TreeError
from headstart.models.protocol import BaseModel
from headstart.sampling.candidates import draw_candidates
from headstart.sampling.noise import gumbel
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.best_first import Guess, grow
from headstart.trees.budget import Budget
from headstart.trees.calibration import Calibration
from headstart.trees.candidate import PAD
from headstart.trees.shape import TreeShape
from tests.tiny_models import VOCAB, native, noise_heads, tiny

D = 32
CPU = torch.device("cpu")
WHOLE = Budget(nodes=99, depth=99)
CALIBRATION = Calibration((0.8, 1.2, 1.0), (0.5, -0.3, 1.0))


@pytest.fixture(scope="module")
def model() -> BaseModel:
    return native(tiny("llama"))


def row(generated: Sequence[int] = (9,), temperature: float = 0.0, seed: int = 3) -> RowSampling:
    return RowSampling(params=SamplingParams(temperature=temperature), seed=seed, prompt_length=2, generated=list(generated))


def states(count: int) -> torch.Tensor:
    return torch.randn(count, 1, D, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


class Truth:
    """What the heads say after a path of one row, computed by :meth:`MedusaHeads.forward`; implements ``Continuations``."""

    def __init__(
        self, model: BaseModel, heads: MedusaHeads, hidden_1D: torch.Tensor, state: RowSampling, calibration: Calibration
    ) -> None:
        self.model, self.heads, self.hidden_1D, self.state, self.calibration = model, heads, hidden_1D, state, calibration

    def log_q(self, path: Sequence[int]) -> torch.Tensor:
        """Over the draft vocabulary, noise included."""
        heads, k = self.heads, len(path)
        padded = [*path, *[0] * (heads.config.num_heads - 1 - k)]
        with torch.no_grad():
            path_1PD = self.model.embed(torch.tensor([padded], dtype=torch.int64))
            root_1D = self.model.embed(torch.tensor([self.state.generated[-1]]))
            shared = self.model.projection(heads.draft_ids_V) if heads.config.reads_lm_head else None
            scores_V = heads(self.hidden_1D, root_1D, shared, path_1PD)[k, 0]
        if not self.state.params.greedy:
            position = self.state.prompt_length + len(self.state.generated) + k
            noise_1V = gumbel(torch.tensor([self.state.seed]), torch.tensor([position]), self.ids_V[None])
            scores_V = torch.log_softmax(scores_V / self.state.params.temperature, -1) + noise_1V[0]
        return torch.log_softmax(scores_V, -1)

    @property
    def ids_V(self) -> torch.Tensor:
        ids_V = self.heads.draft_ids_V
        return torch.arange(VOCAB) if ids_V is None else ids_V

    def ranked(self, path: Sequence[int]) -> list[int]:
        return self.ids_V[self.log_q(path).argsort(descending=True)].tolist()

    def after(self, path: tuple[int, ...]) -> list[Guess]:
        k = len(path)
        if k >= self.heads.config.num_heads:
            return []
        best = self.log_q(path).topk(16)
        line = Calibration(self.calibration.slope_K[k : k + 1], self.calibration.offset_K[k : k + 1])
        chances = line.log_worth(best.values[None, None].float()).exp()[0, 0]
        return list(zip(self.ids_V[best.indices].tolist(), chances.tolist(), strict=True))


HEADS = [
    {},
    {"draft_vocab_size": 20},
    {"projection": "own"},
    {"projection": "low-rank"},
    {"num_layers": 2, "block": "mlp"},
    {"num_heads": 1},
]


@pytest.mark.parametrize("options", HEADS)
@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_a_static_tree_holds_the_guesses_of_each_path(model: BaseModel, options: dict[str, int], temperature: float) -> None:
    heads = noise_heads(model, kind="hydra", **options)
    shape = TreeShape([[0], [1], [0, 0], [0, 2], [2], [1, 1], [0, 2, 0], [1, 1, 1], [0, 0, 1]]).limited(
        depth=heads.config.num_heads
    )
    drafter = HydraDrafter(HydraGuesses(heads, model), StaticLevels(shape), name="hydra-static")
    hidden_B1D, rows = states(3), [row([9], temperature), row([4, 5], 0.0), row([9, 9, 9], temperature, seed=8)]
    for number, hidden_1D in enumerate(hidden_B1D):
        drafter.start(number, [1, 2], hidden_1D)
    with torch.inference_mode():
        tree = drafter.propose([0, 1, 2], rows, [WHOLE] * 3)
    for b, state in enumerate(rows):
        truth = Truth(model, heads, hidden_B1D[b], state, Calibration.none(3))
        expected: dict[tuple[int, ...], tuple[int, ...]] = {(): ()}
        for path in shape.paths:
            above = expected[path[:-1]]
            expected[path] = (*above, truth.ranked(above)[path[-1]])
        assert tree.tokens_BN[b].tolist() == [state.generated[-1], *(expected[path][-1] for path in shape.paths)]
    assert tree.parent_BN[0].tolist() == list(shape.parent_N)


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("nodes", [2, 4, 9, 17])
def test_a_grown_tree_is_the_best_one(model: BaseModel, nodes: int, temperature: float) -> None:
    """As if every path had been asked about, one by one, and always the best one added next."""
    heads = noise_heads(model, kind="hydra")
    drafter = HydraDrafter(HydraGuesses(heads, model), GrownLevels(3, VOCAB, CALIBRATION))
    hidden_B1D, rows = states(3), [row([7], temperature), row([7, 40], temperature), row([30], 0.0)]
    budgets = [Budget(nodes, 9), Budget(max(1, nodes - 3), 2), Budget(nodes, 1)]
    for number, hidden_1D in enumerate(hidden_B1D):
        drafter.start(number, [1, 2], hidden_1D)
    with torch.inference_mode():
        tree = drafter.propose([0, 1, 2], rows, budgets)
    for b, (state, budget) in enumerate(zip(rows, budgets, strict=True)):
        truth = Truth(model, heads, hidden_B1D[b], state, CALIBRATION)
        best = grow([state.generated[-1]], [truth], [Budget(budget.nodes, min(budget.depth, 3))], least=0.0, device=CPU)
        assert tree.tokens_BN[b, : best.nodes].tolist() == best.tokens_BN[0].tolist()
        assert tree.parent_BN[b, : best.nodes].tolist() == best.parent_BN[0].tolist()
        assert set(tree.tokens_BN[b, best.nodes :].tolist()) <= {PAD}


def test_a_head_reads_the_candidates_before_its_own_and_no_others(model: BaseModel) -> None:
    """Another second token of the path changes the guesses of head 3 alone."""
    heads = noise_heads(model, kind="hydra").double()
    hidden_1D, root_1D = states(1)[0], model.embed(torch.tensor([5]))
    shared = model.projection()
    with torch.no_grad():
        one_K1V, other_K1V = (heads(hidden_1D, root_1D, shared, model.embed(torch.tensor([[11, last]]))) for last in (12, 13))
    assert torch.equal(one_K1V[:2], other_K1V[:2])
    assert not torch.allclose(one_K1V[2], other_K1V[2])


def test_untrained_heads_guess_what_the_lm_head_says(model: BaseModel) -> None:
    heads = MedusaHeads(HeadsConfig(hidden_size=D, vocab_size=VOCAB, num_heads=3, kind="hydra"))
    drafter = HydraDrafter(HydraGuesses(heads, model), StaticLevels(TreeShape.full([2, 2])))
    hidden_1D = states(1)[0]
    drafter.start(0, [1], hidden_1D)
    first, second = model.lm_head(hidden_1D)[0].topk(2).indices.tolist()
    with torch.inference_mode():
        assert drafter.propose([0], [row()], [WHOLE]).tokens_BN.tolist() == [[9, first, second, first, second, first, second]]


def test_drawn_candidates_come_from_the_heads_at_the_draft_temperature(model: BaseModel) -> None:
    """Row 0 draws, row 1 ranks: each of row 0's nodes with children names the distribution they are drawn from, which is the head's
    after that very path, and children are its draws in order. The shape names ranks 0 and 2 below the root: two draws."""
    heads = noise_heads(model, kind="hydra")
    shape = TreeShape([[0], [2], [0, 0], [0, 1], [2, 1], [2, 1, 0]])
    drafter = HydraDrafter(HydraGuesses(heads, model), StaticLevels(shape))
    drawing, ranking = replace(row([9], 1.0), draft_temperature=1.7), row([9], 1.0)
    hidden_1D = states(1)[0]
    for number in range(2):
        drafter.start(number, [1, 2], hidden_1D)
    with torch.inference_mode():
        tree = drafter.propose([0, 1], [drawing, ranking], [WHOLE] * 2)
        alone = drafter.propose([1], [ranking], [WHOLE])
    assert tree.drawn is not None
    assert tree.tokens_BN[1].tolist() == alone.tokens_BN[0].tolist()
    assert tree.drawn.source_BN.tolist() == [[0, 1, 2, -1, -1, 3, -1], [-1] * 7]
    truth = Truth(model, heads, hidden_1D, row([9]), Calibration.none(3))
    tokens = tree.tokens_BN[0].tolist()
    for node, path, children in ((0, (), [1, 2]), (1, (1,), [3, 4]), (2, (2,), [5]), (5, (2, 5), [6])):
        q_V = torch.softmax(truth.log_q([tokens[each] for each in path]) / 1.7, -1)
        assert torch.allclose(tree.drawn.q_BPV[0, int(tree.drawn.source_BN[0, node])].double(), q_V, atol=1e-5)
        draws = draw_candidates(q_V.log()[None], [drawing], [3 + len(path)], len(children))
        assert [tokens[each] for each in children] == draws[0].tolist()
    assert HydraDrafter(HydraGuesses(heads, model), StaticLevels(shape)).facts.samples


def test_budgets_and_states_are_each_rows_own(model: BaseModel) -> None:
    """Four rows of one batch propose what each proposes alone; a row without room for a guess has its root; states move on."""
    guesses = HydraGuesses(noise_heads(model, kind="hydra"), model)
    budgets = [WHOLE, Budget(nodes=4, depth=2), Budget(nodes=9, depth=0), Budget(nodes=9, depth=1)]
    rows = [row([3]), row([4]), row([5], 1.0), row([6], 1.0)]
    for tree in (StaticLevels(TreeShape.full([3, 2])), GrownLevels(3, VOCAB)):
        drafter = HydraDrafter(guesses, tree)
        for number, hidden_1D in enumerate(states(4)):
            drafter.start(number, [1], torch.zeros(1, D, dtype=torch.float64))
            drafter.commit(number, [8, 9], torch.cat([torch.zeros_like(hidden_1D), hidden_1D]))  # the last state counts
        with torch.inference_mode():
            together = drafter.propose([0, 1, 2, 3], rows, budgets)
            for b in range(4):
                alone = drafter.propose([b], [rows[b]], [budgets[b]])
                assert together.tokens_BN[b, : alone.nodes].tolist() == alone.tokens_BN[0].tolist()
                assert set(together.tokens_BN[b, alone.nodes :].tolist()) <= {PAD}
            assert drafter.propose([0, 2], [rows[0], rows[2]], [Budget(1, 9), Budget(9, 0)]).tokens_BN.tolist() == [[3], [5]]
        drafter.stop(0)
        drafter.stop(0)  # unknown by now, which is no error
        with pytest.raises(KeyError):
            drafter.propose([0], rows[:1], [WHOLE])


def test_heads_that_overflow(model: BaseModel) -> None:
    """A head that says nothing but NaN costs its guesses, and neither the root nor the guesses of others."""
    heads = noise_heads(model, kind="hydra")
    with torch.no_grad():
        heads.block_bias[:, 1] = torch.nan
    drafter = HydraDrafter(HydraGuesses(heads, model), GrownLevels(3, VOCAB))
    drafter.start(0, [1], states(1)[0])
    with torch.inference_mode():
        tree = drafter.propose([0], [row()], [Budget(4, 9)])
    assert tree.parent_BN.tolist() == [[-1, 0, 0, 0]]


def test_a_tree_that_does_not_fit_the_heads_is_refused(model: BaseModel) -> None:
    guesses = HydraGuesses(noise_heads(model, kind="hydra", draft_vocab_size=20), model)
    with pytest.raises(TreeError, match="the tree is 4 deep, but there are 3 heads"):
        HydraDrafter(guesses, StaticLevels(TreeShape.chain(4)))
    with pytest.raises(TreeError, match="guess number 21 of a head that knows 20 tokens"):
        HydraDrafter(guesses, StaticLevels(TreeShape.full([21])))


def test_facts(model: BaseModel) -> None:
    facts = HydraDrafter(HydraGuesses(noise_heads(model, kind="hydra"), model), GrownLevels(3, VOCAB)).facts
    assert (facts.name, facts.depth, facts.nodes, facts.hidden, facts.samples) == ("hydra", 3, 256, "last", False)


@pytest.mark.parametrize("projection", ["shared", "low-rank"])
@pytest.mark.parametrize(("dtype", "error"), [(torch.bfloat16, 0.05), (torch.float32, 1e-5)], ids=str)
def test_packed_heads_guess_like_others(projection: str, dtype: torch.dtype, error: float) -> None:
    """In bfloat16 on a processor that packs, weights are rounded to 8 bits: probabilities stay within a few hundredths."""
    pretrained = deepcopy(tiny("llama")).to(dtype)
    base = native(pretrained)
    heads = noise_heads(base, kind="hydra", projection=projection).to(dtype)
    with torch.no_grad():
        for parameter in heads.parameters():
            parameter.mul_(0.25)  # such noise as trained heads are made of, and not of near-ties at huge logits
    exact = deepcopy(heads).float()
    if not PackedHeads.worthwhile(heads):
        pytest.skip("this processor packs no matrices")
    guesses = HydraGuesses(heads, base)
    hidden_1D, path = states(1)[0].to(dtype), torch.tensor([[11, 12]])
    with torch.inference_mode():
        known = guesses.rows(hidden_1D, torch.tensor([9]), [row()])
        for k in range(3):
            ids_1R, log_q_1R = guesses.best(known, torch.tensor([0]), path[:, :k], VOCAB)
            shared = pretrained.lm_head.weight.float()
            embedded = [base.embed(ids).float() for ids in (torch.tensor([9]), path)]
            logits_K1V = exact(hidden_1D.float(), embedded[0], lambda x, weight=shared: x @ weight.T, embedded[1])
            q_V = torch.softmax(logits_K1V[k, 0], -1)
            assert log_q_1R is not None
            assert torch.allclose(log_q_1R.exp()[0], q_V[ids_1R[0]], atol=error)


class TestHydraSource:
    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_heads_alone_grow_the_trees_of_hydra(self, model: BaseModel, temperature: float) -> None:
        """Nothing in the texts comes twice or is guessed, so there are no n-grams; the rows differ in what they may carry."""
        guesses = HydraGuesses(noise_heads(model, kind="hydra"), model)
        alone = HydraDrafter(guesses, GrownLevels(3, VOCAB))
        drafter = CombinedDrafter((NgramDrafter(), HydraSource(guesses, None)))
        for each in (drafter, alone):
            for number, hidden_1D in enumerate(states(3)):
                each.start(number, [1], hidden_1D)
        asked = ([0, 1, 2], [row([7], temperature)] * 3, [Budget(8, 7), Budget(3, 2), Budget(9, 0)])
        with torch.inference_mode():  # as in the engine
            joined, hydra = drafter.propose(*asked), alone.propose(*asked)
        assert torch.equal(joined.tokens_BN, hydra.tokens_BN)
        assert torch.equal(joined.parent_BN, hydra.parent_BN)

    def test_the_gain_follows_the_path(self) -> None:
        """Belief 8 of 8. Right after the root (0.5) and then after 1 (0.25) adds 2 to 0.75; after (1, 3) nothing was guessed."""
        heads = HydraOfRow(torch.zeros(1), guesses={(): [(1, 0.5), (2, 0.1)], (1,): [(3, 0.25)], (2,): [(4, 0.9)]})
        heads.learn([1, 3, 5])
        assert heads.gain.value == pytest.approx(10.0 / 8.75)
        heads.learn([2, 4])  # the first guess after the root was wrong, and what came after it teaches nothing
        assert heads.gain.value == pytest.approx(10.0 / 9.25)
        assert heads.after((9,)) == []

    def test_chances_stay_below_one(self) -> None:
        assert HydraOfRow(torch.zeros(1), Gain(right=16.0), {(5,): [(1, 0.9)]}).after((5,)) == [(1, 0.999)]
