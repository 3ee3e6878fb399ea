"""The Medusa drafter: which guesses stand at which node. Heads are tables, so that each guess can be read off."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
import torch.nn.functional as F

from headstart.drafters.arrangement import GrownTree, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.medusa import MedusaDrafter
from headstart.errors import TreeError
from headstart.models.protocol import BaseModel, ModelFacts, Projection
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling, choose
from headstart.trees.budget import Budget
from headstart.trees.calibration import Calibration
from headstart.trees.candidate import PAD
from headstart.trees.growth import LARGEST
from headstart.trees.shape import TreeShape

HOT = SamplingParams(temperature=1.0)
LESSON = TreeShape([[0], [1], [0, 0], [0, 1], [1, 0], [1, 1]])
WHOLE = Budget(nodes=99, depth=99)


class Table:
    """What a drafter reads of a base model: facts, embeddings V x D and an LM head V x D."""

    cache: Any = None

    def __init__(self, vocab: int, size: int, seed: int = 0) -> None:
        torch.manual_seed(seed)
        self.embeddings_VD = torch.randn(vocab, size, dtype=torch.float64)
        self.lm_head_VD = torch.randn(vocab, size, dtype=torch.float64)
        self.asked: list[torch.Tensor | None] = []

    @property
    def facts(self) -> ModelFacts:
        vocab, size = self.lm_head_VD.shape
        return ModelFacts(
            name="table", vocab_size=vocab, hidden_size=size, context_length=99, eos_ids=(), dtype=torch.float64,
            device=torch.device("cpu"), implementation="table",
        )  # fmt: skip

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        return self.embeddings_VD[ids]

    def projection(self, ids: torch.Tensor | None = None) -> Projection:
        self.asked.append(ids)
        weight = self.lm_head_VD if ids is None else self.lm_head_VD[ids]
        return lambda hidden: F.linear(hidden, weight)

    def prefill(self, ids_BT: torch.Tensor, first_row: int, counts_B: Sequence[int]) -> torch.Tensor:
        raise NotImplementedError("a drafter never runs the base model")

    def verify(self, tree: Any) -> torch.Tensor:
        raise NotImplementedError("a drafter never runs the base model")

    lm_head = embed


def table_drafter(logits_KV: torch.Tensor, tree: TreeShape, draft_ids: Sequence[int] | None = None) -> MedusaDrafter:
    """Heads whose logits at the hidden state (1,) are the table; at (-1,) they are its negative."""
    heads, vocab = logits_KV.shape
    config = HeadsConfig(
        hidden_size=1,
        vocab_size=vocab if draft_ids is None else 1000,
        num_heads=heads,
        projection="own",
        condition_on_root=False,
        draft_vocab_size=None if draft_ids is None else vocab,
    )
    made = MedusaHeads(config, None if draft_ids is None else torch.tensor(draft_ids))
    made.own_projection.data = logits_KV[..., None].clone()
    model: BaseModel = Table(config.vocab_size, 1)
    return MedusaDrafter(HeadGuesses(made, model), StaticTree(tree))


def row(params: SamplingParams = SamplingParams(), seed: int = 0, generated: Sequence[int] = (9,), prompt: int = 5) -> RowSampling:
    return RowSampling(params=params, seed=seed, prompt_length=prompt, generated=list(generated))


def start(drafter: MedusaDrafter, *numbers: int, hidden: float = 1.0) -> None:
    for number in numbers:
        drafter.start(number, [1, 2, 3], torch.full((1, 1), hidden, dtype=torch.float64))


# head 1 likes 1 best and 2 next, head 2 likes 3 best and 4 next: "the", "on", "link", "Reset" of the lesson
LESSON_HEADS = torch.tensor([[0.0, 9.0, 8.0, 1.0, 2.0], [0.0, 1.0, 2.0, 9.0, 8.0]], dtype=torch.float64)


def test_the_tree_of_the_lesson() -> None:
    """Each node holds its own head's guess of its own rank, whatever stands above it."""
    drafter = table_drafter(LESSON_HEADS, LESSON)
    start(drafter, 7)
    tree = drafter.propose([7], [row(generated=[0])], [WHOLE])
    assert tree.tokens_BN.tolist() == [[0, 1, 2, 3, 4, 3, 4]]
    assert tree.parent_BN.tolist() == [[-1, 0, 0, 1, 1, 2, 2]]
    assert torch.equal(tree.ancestors_BNN[0], LESSON.ancestors_NN)


def test_each_row_gets_what_its_budget_allows() -> None:
    """Three rows of one batch: the whole tree, its first four nodes, one level; and one row that has no room for a guess."""
    drafter = table_drafter(LESSON_HEADS, LESSON)
    start(drafter, 1, 2, 3, 4)
    budgets = [WHOLE, Budget(nodes=4, depth=9), Budget(nodes=9, depth=1), Budget(nodes=9, depth=0)]
    tree = drafter.propose([1, 2, 3, 4], [row(generated=[root]) for root in (0, 1, 2, 3)], budgets)
    assert tree.tokens_BN.tolist() == [
        [0, 1, 2, 3, 4, 3, 4],
        [1, 1, 2, 3, PAD, PAD, PAD],
        [2, 1, 2, PAD, PAD, PAD, PAD],
        [3, PAD, PAD, PAD, PAD, PAD, PAD],
    ]
    assert tree.depth_BN.tolist()[1] == [0, 1, 1, 2, 0, 0, 0]


def test_no_room_for_any_guess_is_plain_decoding() -> None:
    drafter = table_drafter(LESSON_HEADS, LESSON)
    start(drafter, 1, 2)
    tree = drafter.propose([1, 2], [row(generated=[3]), row(generated=[4])], [Budget(1, 0), Budget(8, 0)])
    assert tree.tokens_BN.tolist() == [[3], [4]]


def test_the_hidden_state_is_the_last_accepted_ones() -> None:
    """The table is turned round by a hidden state of -1: head 1 then likes 0, its worst, best."""
    drafter = table_drafter(LESSON_HEADS, TreeShape([[0]]))
    drafter.start(1, [1, 2], torch.tensor([[-1.0], [1.0]], dtype=torch.float64))  # the prompt's last position counts
    assert drafter.propose([1], [row()], [WHOLE]).tokens_BN.tolist() == [[9, 1]]
    drafter.commit(1, [5, 6], torch.tensor([[1.0], [-1.0]], dtype=torch.float64))
    assert drafter.propose([1], [row()], [WHOLE]).tokens_BN.tolist() == [[9, 0]]


def test_rows_keep_their_own_states_and_stop_forgets_them() -> None:
    drafter = table_drafter(LESSON_HEADS, TreeShape([[0]]))
    start(drafter, 1, hidden=1.0)
    start(drafter, 2, hidden=-1.0)
    assert drafter.propose([2, 1], [row(), row()], [WHOLE, WHOLE]).tokens_BN.tolist() == [[9, 0], [9, 1]]
    drafter.stop(1)
    drafter.stop(1)  # unknown by now, which is no error
    assert drafter.propose([2], [row()], [WHOLE]).tokens_BN.tolist() == [[9, 0]]
    with pytest.raises(KeyError):
        drafter.propose([1], [row()], [WHOLE])


@pytest.mark.parametrize("params", [HOT, SamplingParams(temperature=0.6)])
def test_guesses_see_the_noise_of_the_draw(params: SamplingParams) -> None:
    """Heads that know the model's very distribution guess its draws: head k's first guess is the token k + 1 beyond the root."""
    torch.manual_seed(1)
    logits_KV = torch.randn(3, 40, dtype=torch.float64).float().double()
    drafter = table_drafter(logits_KV, TreeShape.chain(3))
    start(drafter, 1)
    for seed in range(10):
        sampling = row(params, seed=seed, generated=[9, 8, 7])
        expected: list[int] = []
        for k in range(3):
            expected += choose(logits_KV[k : k + 1], [sampling], [expected])
        assert drafter.propose([1], [sampling], [WHOLE]).tokens_BN.tolist() == [[7, *expected]]


def test_later_ranks_are_the_next_best_under_the_noise() -> None:
    """With the first choice forbidden the draw would be the second guess (Gumbel top-k)."""
    torch.manual_seed(2)
    logits_KV = torch.randn(1, 40, dtype=torch.float64).float().double()
    drafter = table_drafter(logits_KV, TreeShape([[0], [1]]))
    start(drafter, 1)
    for seed in range(10):
        _, first, second = drafter.propose([1], [row(HOT, seed=seed)], [WHOLE]).tokens_BN[0].tolist()
        forbidden = logits_KV.clone()
        forbidden[0, first] = -torch.inf
        assert choose(forbidden, [row(HOT, seed=seed)], [()]) == [second]


def test_a_draft_vocabulary_keeps_the_noise_of_the_whole_ones_ids() -> None:
    """Heads over the ids 10, 20, 30, ... guess what a model draws that knows no other tokens."""
    torch.manual_seed(3)
    ids = list(range(10, 300, 10))
    logits_KV = torch.randn(2, len(ids), dtype=torch.float64).float().double()
    drafter = table_drafter(logits_KV, TreeShape.chain(2), ids)
    start(drafter, 1)
    assert drafter.propose([1], [row()], [WHOLE]).tokens_BN.tolist() == [[9, *(ids[i] for i in logits_KV.argmax(-1).tolist())]]
    for seed in range(10):
        expected: list[int] = []
        for k in range(2):
            whole = torch.full((1, 1000), -torch.inf, dtype=torch.float64)
            whole[0, ids] = logits_KV[k]
            expected += choose(whole, [row(HOT, seed=seed)], [expected])
        assert drafter.propose([1], [row(HOT, seed=seed)], [WHOLE]).tokens_BN.tolist() == [[9, *expected]]


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    """Greedy and sampled rows with other seeds, lengths and budgets: together and alone. Seven nodes at most, so row 1 has 4."""
    torch.manual_seed(4)
    drafter = table_drafter(torch.randn(2, 30, dtype=torch.float64), LESSON)
    start(drafter, 0, 2)
    start(drafter, 1, 3, hidden=-1.0)
    rows = [row(), row(HOT, seed=3), row(HOT, seed=3, prompt=6), row(SamplingParams(temperature=0.5), seed=8, generated=[1, 2])]
    budgets = [WHOLE, Budget(nodes=4, depth=2), WHOLE, Budget(nodes=9, depth=1)]
    together = drafter.propose([0, 1, 2, 3], rows, budgets)
    for b in range(4):
        alone = drafter.propose([b], [rows[b]], [budgets[b]])
        assert together.tokens_BN[b, : alone.nodes].tolist() == alone.tokens_BN[0].tolist()
        assert together.tokens_BN[b, alone.nodes :].tolist() == [PAD] * (7 - alone.nodes)


def random_heads(**options: Any) -> MedusaHeads:
    torch.manual_seed(5)
    config = HeadsConfig(hidden_size=6, vocab_size=50, num_heads=3, **options)
    ids = None if config.draft_vocab_size is None else torch.arange(0, 50, 2)[: config.draft_vocab_size]
    heads = MedusaHeads(config, ids)
    for parameter in heads.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return heads


def test_untrained_shared_heads_guess_what_the_lm_head_says() -> None:
    """Their states are the hidden state itself, so each head ranks as the LM head does."""
    model = Table(50, 6)
    heads = MedusaHeads(HeadsConfig(hidden_size=6, vocab_size=50, num_heads=3))
    drafter = MedusaDrafter(HeadGuesses(heads, model), StaticTree(TreeShape.full([2, 2])))
    hidden = torch.randn(1, 6, dtype=torch.float64)
    drafter.start(1, [1], hidden)
    first, second = F.linear(hidden, model.lm_head_VD).topk(2).indices[0].tolist()
    assert drafter.propose([1], [row()], [WHOLE]).tokens_BN.tolist() == [[9, first, second, first, second, first, second]]
    assert model.asked == [None]  # the projection is made once, over the whole vocabulary


def test_the_shared_projection_is_over_the_draft_vocabulary() -> None:
    model = Table(50, 6)
    heads = random_heads(draft_vocab_size=10)
    drafter = MedusaDrafter(HeadGuesses(heads, model), StaticTree(TreeShape.chain(3)))
    assert [ids.tolist() for ids in model.asked if ids is not None] == [list(range(0, 20, 2))]
    drafter.start(1, [1], torch.randn(1, 6, dtype=torch.float64))
    assert set(drafter.propose([1], [row()], [WHOLE]).tokens_BN[0, 1:].tolist()) <= set(range(0, 20, 2))


def test_conditioned_heads_read_the_roots_embedding() -> None:
    """Two rows with one hidden state and two roots guess what the heads say of each root, and not the same."""
    model, heads = Table(50, 6), random_heads()
    drafter = MedusaDrafter(HeadGuesses(heads, model), StaticTree(TreeShape.full([2, 1, 1])))
    hidden = torch.randn(1, 6, dtype=torch.float64)
    drafter.start(1, [1], hidden)
    drafter.start(2, [1], hidden)
    tree = drafter.propose([1, 2], [row(generated=[3]), row(generated=[40])], [WHOLE, WHOLE])
    for b, root in enumerate((3, 40)):
        with torch.no_grad():
            logits = heads(hidden, model.embeddings_VD[[root]], lambda x: F.linear(x, model.lm_head_VD))[:, 0]
        first, second = logits[0].topk(2).indices.tolist()
        below, last = logits[1].argmax().item(), logits[2].argmax().item()
        assert tree.tokens_BN[b].tolist() == [root, first, second, below, below, last, last]
    assert tree.tokens_BN[0, 1:].tolist() != tree.tokens_BN[1, 1:].tolist()


def test_a_tree_deeper_than_the_heads_is_refused() -> None:
    with pytest.raises(TreeError, match=r"the tree is 3 deep, but there are 2 heads; cut it with tree.limited\(depth=2\)"):
        table_drafter(LESSON_HEADS, TreeShape.chain(3))


def test_a_tree_wider_than_the_vocabulary_is_refused() -> None:
    with pytest.raises(TreeError, match=r"guess number 6 of a head that knows 5 tokens.*tree.limited\(width=5\)"):
        table_drafter(LESSON_HEADS, TreeShape.full([6]))


def test_a_tree_as_deep_and_wide_as_can_be() -> None:
    """All five tokens of each head, in the order of its table."""
    drafter = table_drafter(LESSON_HEADS, TreeShape.full([5, 5]))
    start(drafter, 1)
    tokens = drafter.propose([1], [row()], [WHOLE]).tokens_BN[0].tolist()
    assert tokens[1:6] == [1, 2, 4, 3, 0]
    assert tokens[6:11] == [3, 4, 2, 1, 0]


def test_facts() -> None:
    facts = table_drafter(LESSON_HEADS, LESSON).facts
    assert (facts.name, facts.depth, facts.hidden, facts.samples) == ("medusa", 2, "last", True)


def test_a_grown_tree_goes_where_the_probability_is() -> None:
    """Head 1 is nearly sure of 1, head 2 of 3: with three nodes it is the chain; one row that is unsure gets a fan.

    The table is read with its sign: at the hidden state (1,) heads are sure, at (0.02,) nearly all guesses are equal, so that
    head 1's second guess (about 0.21) is worth more than a path of two (about 0.04).
    """
    model: BaseModel = Table(5, 1)
    config = HeadsConfig(hidden_size=1, vocab_size=5, num_heads=2, projection="own", condition_on_root=False)
    heads = MedusaHeads(config)
    heads.own_projection.data = torch.tensor([[0.0, 9.0, 2.0, 1.0, 3.0], [0.0, 1.0, 2.0, 9.0, 3.0]]).double()[..., None]
    drafter = MedusaDrafter(HeadGuesses(heads, model), GrownTree(2, 5))
    start(drafter, 1)
    start(drafter, 2, hidden=0.02)
    tree = drafter.propose([1, 2], [row(generated=[0]), row(generated=[0])], [Budget(nodes=3, depth=9)] * 2)
    assert tree.tokens_BN.tolist() == [[0, 1, 3], [0, 1, 4]]
    assert tree.parent_BN.tolist() == [[-1, 0, 1], [-1, 0, 0]]


def test_a_calibration_turns_a_fan_into_a_chain() -> None:
    """Head 2's guesses are right more often than it says: its odds times e^6 make the deeper path worth more."""
    model: BaseModel = Table(5, 1)
    heads = MedusaHeads(HeadsConfig(hidden_size=1, vocab_size=5, num_heads=2, projection="own", condition_on_root=False))
    heads.own_projection.data = torch.tensor([[0.0, 9.0, 2.0, 1.0, 3.0], [0.0, 1.0, 2.0, 9.0, 3.0]]).double()[..., None]
    drafter = MedusaDrafter(HeadGuesses(heads, model), GrownTree(2, 5, Calibration((1.0, 1.0), (0.0, 6.0))))
    start(drafter, 2, hidden=0.02)
    tree = drafter.propose([2], [row(generated=[0])], [Budget(nodes=3, depth=9)])
    assert tree.tokens_BN.tolist() == [[0, 1, 3]]
    assert tree.parent_BN.tolist() == [[-1, 0, 1]]


def test_a_grown_tree_of_a_budget_beyond_the_largest() -> None:
    """A budget is what a row may carry at most: five guesses a head, two heads, are 31 nodes with the root, whatever it allows."""
    model: BaseModel = Table(5, 1)
    heads = MedusaHeads(HeadsConfig(hidden_size=1, vocab_size=5, num_heads=2, projection="own", condition_on_root=False))
    drafter = MedusaDrafter(HeadGuesses(heads, model), GrownTree(2, 5))
    start(drafter, 1)
    tree = drafter.propose([1], [row(generated=[0])], [Budget(nodes=LARGEST + 1, depth=9)])
    assert tree.nodes == 1 + 5 + 25


def test_guesses_at_a_temperature_next_to_zero_are_the_greedy_ones() -> None:
    torch.manual_seed(4)
    drafter = table_drafter(torch.randn(2, 40, dtype=torch.float64), TreeShape.full([2, 1]))
    start(drafter, 1)
    greedy = drafter.propose([1], [row()], [WHOLE]).tokens_BN.tolist()
    assert drafter.propose([1], [row(SamplingParams(temperature=5e-324))], [WHOLE]).tokens_BN.tolist() == greedy
