"""The Medusa drafter with a draft temperature: candidates drawn from the heads, in trees whose shape knows nothing of the draws."""

from collections.abc import Sequence

import pytest
import torch

from headstart.drafters.arrangement import Arrangement, GrownTree, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads import HeadsConfig, MedusaHeads
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.request import Request
from headstart.sampling.candidates import draw_candidates
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape
from tests.decoding import texts
from tests.tiny_models import VOCAB, native, noise_heads, tiny

HEADS_KV = torch.log(torch.tensor([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]], dtype=torch.float64))
IDS = [7, 20, 3, 55]
WHOLE = Budget(nodes=99, depth=99)
SHAPES = {"static": StaticTree(TreeShape.full([3, 2])), "grown": GrownTree(2, 4)}


def drafter(arrangement: Arrangement) -> MedusaDrafter:
    """Two heads over a draft vocabulary of four ids, whose logits at the hidden state (1,) are the table."""
    config = HeadsConfig(
        hidden_size=1, vocab_size=VOCAB, num_heads=2, num_layers=0, projection="own", condition_on_root=False, draft_vocab_size=4
    )
    heads = MedusaHeads(config, torch.tensor(IDS))
    heads.own_projection.data = HEADS_KV[..., None].clone()
    return MedusaDrafter(HeadGuesses(heads, native(tiny("llama"))), arrangement)


def row(seed: int, *, temperature: float | None = 1.0, replacement: bool = False) -> RowSampling:
    state = RowSampling(params=SamplingParams(temperature=1.0), seed=seed, prompt_length=3, generated=[9, 11])
    state.draft_temperature, state.draft_replacement = temperature, replacement
    return state


def proposed(arrangement: Arrangement, rows: Sequence[RowSampling], budgets: Sequence[Budget] | None = None) -> CandidateTree:
    made = drafter(arrangement)
    for b in range(len(rows)):
        made.start(b, [1, 2, 3], torch.ones(1, 1, dtype=torch.float64))
    return made.propose(range(len(rows)), rows, budgets or [Budget(nodes=8, depth=2)] * len(rows))


@pytest.mark.parametrize("arrangement", SHAPES.values(), ids=SHAPES)
@pytest.mark.parametrize("replacement", [False, True])
def test_children_are_the_draws_in_their_order(arrangement: Arrangement, replacement: bool) -> None:
    """Of the head of their depth, at their own position (the next one of the text is 5), with what they were drawn from."""
    rows = [row(seed, replacement=replacement) for seed in range(6)]
    tree = proposed(arrangement, rows)
    assert tree.drawn is not None
    assert tree.drawn.replacement_B.tolist() == [replacement] * 6
    ids_V = torch.tensor(IDS)
    draws_DBC = [ids_V[draw_candidates(HEADS_KV[d].float().expand(6, -1), rows, [5 + d] * 6, 4, ids_V)].tolist() for d in range(2)]
    for b in range(6):
        parent_N, depth_N = tree.parent_BN[b].tolist(), tree.depth_BN[b].tolist()
        assert {1, 2} <= set(depth_N)
        for node in range(tree.nodes):
            children = [child for child in range(tree.nodes) if parent_N[child] == node]
            source = int(tree.drawn.source_BN[b, node])
            assert source == (depth_N[node] if depth_N[node] < 2 else -1)
            if children:
                assert tree.tokens_BN[b, children].tolist() == draws_DBC[depth_N[node]][b][: len(children)]
                q_V = tree.drawn.q_BPV[b, source]
                assert q_V[IDS].tolist() == pytest.approx(HEADS_KV[source].exp().tolist())
                assert float(q_V.sum()) == pytest.approx(1.0)


@pytest.mark.parametrize("arrangement", SHAPES.values(), ids=SHAPES)
def test_the_shape_does_not_depend_on_the_draws(arrangement: Arrangement) -> None:
    tree = proposed(arrangement, [row(seed) for seed in range(40)])
    assert len({tuple(tokens) for tokens in tree.tokens_BN.tolist()}) > 20
    assert len({tuple(parents) for parents in tree.parent_BN.tolist()}) == 1


def test_no_draw_is_left_out_where_a_shape_skips_ranks() -> None:
    """By rank the tree holds guesses 1 and 3; drawn without replacement the second child has to be the second draw."""
    skipping = StaticTree(TreeShape([[1], [3]]))
    ranked = proposed(skipping, [row(0, temperature=None)])
    assert ranked.drawn is None
    drawn = proposed(skipping, [row(0)])
    first_two = draw_candidates(HEADS_KV[0].float()[None], [row(0)], [5], 2, torch.tensor(IDS))[0]
    assert drawn.tokens_BN[0, 1:].tolist() == torch.tensor(IDS)[first_two].tolist()


def test_rows_that_draw_and_rows_that_do_not() -> None:
    """Each comes out as it does alone, budgets of its own included."""
    rows = [row(1), row(2, temperature=None), row(3, replacement=True), row(4, temperature=None)]
    budgets = [Budget(nodes=n, depth=2) for n in (8, 5, 4, 8)]
    for arrangement in SHAPES.values():
        together = proposed(arrangement, rows, budgets)
        assert together.drawn is not None
        assert together.drawn.replacement_B.tolist() == [False, False, True, False]
        for b in range(4):
            alone = proposed(arrangement, rows[b : b + 1], budgets[b : b + 1])
            assert torch.equal(together.tokens_BN[b, : alone.nodes], alone.tokens_BN[0])
            if b % 2:
                assert alone.drawn is None
                assert set(together.drawn.source_BN[b].tolist()) == {-1}
            else:
                assert alone.drawn is not None
                assert torch.equal(together.drawn.source_BN[b, : alone.nodes], alone.drawn.source_BN[0])
                assert torch.equal(together.drawn.q_BPV[b, :2], alone.drawn.q_BPV[0])


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("batch", [1, 5])
def test_drawn_candidates_do_not_change_an_exact_text(batch: int, temperature: float) -> None:
    """With noise for heads, at low and high draft temperatures, beside a row that ranks."""
    prompts = [[5, 9], [40, 41, 42], [33], [11, 12], [7]][:batch]
    params = SamplingParams(temperature=temperature)

    def requests(name: str, *draft: float | None) -> list[Request]:
        return [
            Request(
                prompt_ids=prompt,
                drafter=name,
                params=params,
                max_new_tokens=15,
                seed=i,
                draft_temperature=draft[i % len(draft)] if draft else None,
            )
            for i, prompt in enumerate(prompts)
        ]

    model = native(tiny("llama"))
    plain = texts(Engine(model, {"none": PlainDrafter()}), requests("none"))
    for arrangement in (StaticTree(TreeShape.full([3, 2])), GrownTree(3, VOCAB)):
        made = MedusaDrafter(HeadGuesses(noise_heads(model), model), arrangement)
        engine = Engine(model, {"none": PlainDrafter(), "medusa": made}, nodes=8)
        assert texts(engine, requests("medusa", 1.0, 0.01, None, 50.0)) == plain


def test_nothing_is_drawn_where_there_is_no_room() -> None:
    tree = proposed(SHAPES["static"], [row(0)], [Budget(nodes=1, depth=0)])
    assert (tree.nodes, tree.drawn) == (1, None)
