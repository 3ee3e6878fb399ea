"""A smaller model that drafts: what it proposes, how far, and what becomes of its cache."""

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from headstart.drafters.draft_model import DraftModelDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.sampling.row import RowSampling
from headstart.trees.budget import Budget
from headstart.trees.candidate import PAD, CandidateTree
from tests.decoding import Spy, decode, run
from tests.tiny_models import VOCAB, adapter, alphabet_model, build, letter_ids, native, tiny

NO_STATE = torch.zeros(1, 1)
NEW = 21
PROMPTS = [letter_ids(text) for text in ("abc", "mnopqrmnop", "x", "WXY", "hello")]


def row(generated: Sequence[int], prompt: int = 3, **options: Any) -> RowSampling:
    params = SamplingParams(temperature=options.pop("temperature", 0.0))
    return RowSampling(params=params, seed=3, prompt_length=prompt, generated=list(generated), **options)


def drafter(model: BaseModel | Spy, confidence: float = 0.0, **options: Any) -> DraftModelDrafter:
    return DraftModelDrafter(model, vocab_size=VOCAB, confidence=confidence, **options)  # type: ignore[arg-type]


def started(confidence: float = 0.0, text: str = "abc", **options: Any) -> DraftModelDrafter:
    """The alphabet as the draft model: the successor's logit is 8 and all others are 0, so that it is right with 97.9 %."""
    made = drafter(native(alphabet_model()), confidence, **options)
    made.start(0, letter_ids(text), NO_STATE)
    return made


def nodes_of(tree: CandidateTree, b: int = 0) -> list[tuple[int, int]]:
    """Id and parent of each node that is no padding."""
    return [
        (token, parent)
        for token, parent in zip(tree.tokens_BN[b].tolist(), tree.parent_BN[b].tolist(), strict=True)
        if token != PAD
    ]


def engine(base: BaseModel, made: DraftModelDrafter, nodes: int = 4) -> Engine:
    return Engine(base, {"none": PlainDrafter(), "draft-model": made}, nodes=nodes)


def requests(name: str = "draft-model", prompts: Sequence[Sequence[int]] = PROMPTS, **options: Any) -> list[Request]:
    temperature = options.pop("temperature", 0.0)
    settings = {"max_new_tokens": NEW, "params": SamplingParams(temperature=temperature), **options}
    return [Request(prompt_ids=ids, drafter=name, seed=i, **settings) for i, ids in enumerate(prompts)]


class TestProposals:
    def test_a_chain(self) -> None:
        tree = started(branches=1).propose([0], [row(letter_ids("d"))], [Budget(4, 9)])
        assert nodes_of(tree) == list(zip(letter_ids("defg"), [-1, 0, 1, 2], strict=True))

    @pytest.mark.parametrize(("confidence", "guesses"), [(0.98, 1), (0.97, 2), (0.95, 3), (0.93, 4), (0.0, 8)])
    def test_it_stops_when_it_is_no_longer_sure(self, confidence: float, guesses: int) -> None:
        """A guess is drafted on if its chance is at least the confidence: 0.979, 0.959, 0.939, ... along the chain."""
        chance = math.exp(8) / (math.exp(8) + VOCAB - 1)
        assert [round(chance**k, 3) for k in (1, 2, 3)] == [0.979, 0.959, 0.939]
        tree = started(confidence, branches=1).propose([0], [row(letter_ids("d"))], [Budget(9, 9)])
        assert [token for token, _ in nodes_of(tree)] == letter_ids("defghijklmn")[: guesses + 1]

    def test_a_tree_takes_the_likeliest_nodes(self) -> None:
        """At sharpness 0.25 the successor has 10.5 %, all others 1.4 %: after it come its successor with 1.1 % and the others of
        the first level, each likelier than that; among equals the lowest id."""
        flat = drafter(native(alphabet_model(sharpness=0.25)))
        flat.start(0, letter_ids("abc"), NO_STATE)
        tree = flat.propose([0], [row(letter_ids("d"))], [Budget(5, 9)])
        tokens, parents = zip(*nodes_of(tree), strict=True)
        assert tokens[:2] == tuple(letter_ids("de"))
        assert parents == (-1, 0, 0, 0, 0)
        # at the usual sharpness the second level of the likeliest is better than any other node of the first
        assert nodes_of(started().propose([0], [row(letter_ids("d"))], [Budget(3, 9)]))[2] == (letter_ids("f")[0], 1)

    def test_budgets(self) -> None:
        made = started(branches=1)
        made.start(1, letter_ids("xy"), NO_STATE)
        made.start(2, letter_ids("k"), NO_STATE)
        states = [row(letter_ids("d")), row(letter_ids("z"), 2), row(letter_ids("l"), 1)]
        tree = made.propose([0, 1, 2], states, [Budget(9, 2), Budget(1, 0), Budget(3, 9)])
        assert [[token for token, _ in nodes_of(tree, b)] for b in range(3)] == [letter_ids(t) for t in ("def", "z", "lmn")]
        assert int(tree.depth_BN.max()) == 2

    def test_it_sees_the_noise_of_the_draw(self) -> None:
        """At temperature 1 the very same model guesses what will be drawn, token for token."""
        base = native(alphabet_model(sharpness=0.3))
        plain = decode(Engine(base, {"none": PlainDrafter()}), requests("none", temperature=1.0))
        outcomes = decode(engine(base, drafter(native(alphabet_model(sharpness=0.3)), branches=1)), requests(temperature=1.0))
        assert [outcome.ids for outcome in outcomes] == [outcome.ids for outcome in plain]
        assert {outcome.stats.steps for outcome in outcomes} == {5}  # 20 tokens after the first, four a step

    def test_drawn_candidates_say_what_they_were_drawn_from(self) -> None:
        drawing = row(letter_ids("d"), temperature=1.0, draft_temperature=0.5)
        tree = started().propose([0], [drawing], [Budget(4, 9)])
        assert tree.drawn is not None
        source = int(tree.drawn.source_BN[0, 0])
        q_V = tree.drawn.q_BPV[0, source]
        # logits over 0.5: the successor of "d" has exp(16) against 63
        assert float(q_V[letter_ids("e")[0]]) == pytest.approx(math.exp(16) / (math.exp(16) + VOCAB - 1))
        assert float(q_V.sum()) == pytest.approx(1.0)
        assert [token for token, _ in nodes_of(tree)][:2] == letter_ids("de")

    def test_rows_that_draw_beside_rows_that_rank(self) -> None:
        made = started()
        made.start(1, letter_ids("xy"), NO_STATE)
        states = [row(letter_ids("d"), temperature=1.0, draft_temperature=0.1), row(letter_ids("z"), 2)]
        tree = made.propose([0, 1], states, [Budget(3, 9), Budget(3, 9)])
        assert [nodes_of(tree, b)[1][0] for b in range(2)] == letter_ids("eA")
        assert tree.drawn is not None
        assert tree.drawn.source_BN[:, 0].tolist() == [0, -1]


class TestItself:
    """The base model as its own draft model is right everywhere: with chains of n nodes, n tokens a step."""

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    @pytest.mark.parametrize("nodes", [2, 5])
    @pytest.mark.parametrize("together", [False, True])
    def test_everything_is_accepted(self, together: bool, nodes: int, temperature: float) -> None:
        decoder = engine(native(tiny("llama")), drafter(native(tiny("llama")), branches=1), nodes)
        todo = requests(temperature=temperature)
        outcomes = decode(decoder, todo) if together else [decode(decoder, [request])[0] for request in todo]
        assert {outcome.stats.steps for outcome in outcomes} == {20 // nodes}
        assert {outcome.stats.tokens_per_step for outcome in outcomes} == {float(nodes)}

    def test_rejection_refuses_nothing(self) -> None:
        """p and q are equal, so that min(1, p/q) is 1."""
        decoder = engine(native(tiny("llama")), drafter(native(tiny("llama")), branches=1))
        outcomes = decode(decoder, requests(temperature=1.0, acceptance="rejection"))
        assert {outcome.stats.steps for outcome in outcomes} == {5}


class TestItsCache:
    def test_accepted_guesses_are_not_read_again(self) -> None:
        """A step of four nodes: one pass over what is new of the text, then over one guess, then over two. When all three were
        accepted, the first two are in the cache already; new are the third, which was never looked behind, and the next root."""
        spy = Spy(native(tiny("llama")))
        decode(engine(native(tiny("llama")), drafter(spy, branches=1)), requests(prompts=PROMPTS[:1]))
        first, further = [(1, 1), (1, 1), (1, 2)], [(1, 2), (1, 1), (1, 2)]
        assert spy.verified == first + 4 * further

    def test_it_holds_the_text_and_nothing_else(self) -> None:
        """After steps with and without accepted guesses, the draft model's next proposals are those of one that has just begun."""
        draft, base = native(alphabet_model(sharpness=0.5)), native(alphabet_model(sharpness=0.7))
        made = drafter(draft)
        decoder = engine(base, made, nodes=6)
        decoder.add(requests(prompts=PROMPTS[1:2], temperature=1.0)[0])
        for _ in range(4):
            decoder.step()
            (running,) = decoder.scheduler.rows
            state = running.sampling
            fresh = drafter(native(alphabet_model(sharpness=0.5)))
            fresh.start(0, PROMPTS[1], NO_STATE)
            expected = fresh.propose([0], [state], [Budget(6, 5)])
            tree = made.propose([running.number], [state], [Budget(6, 5)])
            assert nodes_of(tree) == nodes_of(expected)
            assert draft.cache.lengths == [state.prompt_length + len(state.generated)]

    def test_rows_proposed_for_one_by_one(self) -> None:
        """A pass for one row writes over the guesses of the others: they are read again, and nothing else changes."""
        made, alone = started(), started(text="mno")
        made.start(1, letter_ids("mno"), NO_STATE)
        for b, text in enumerate("dp"):
            made.propose([b], [row(letter_ids(text))], [Budget(5, 4)])
        made.commit(0, letter_ids("efZ"), NO_STATE)
        made.commit(1, letter_ids("qrs"), NO_STATE)
        alone.propose([0], [row(letter_ids("p"))], [Budget(5, 4)])
        alone.commit(0, letter_ids("qrs"), NO_STATE)
        both = made.propose([0, 1], [row(letter_ids("defZ")), row(letter_ids("pqrs"))], [Budget(4, 3)] * 2)
        assert nodes_of(both, 1) == nodes_of(alone.propose([0], [row(letter_ids("pqrs"))], [Budget(4, 3)]))
        assert nodes_of(both, 0)[:2] == [(letter_ids("Z")[0], -1), (letter_ids(" ")[0], 0)]

    @pytest.mark.parametrize("temperature", [0.0, 1.0])
    def test_rows_come_and_go(self, temperature: float) -> None:
        """Texts of different lengths, a cancelled one and late ones: each is what it is alone, in as many steps."""
        draft = native(alphabet_model(sharpness=0.6))
        decoder = engine(native(alphabet_model(sharpness=0.8)), drafter(draft), nodes=5)
        todo = [requests(prompts=[ids], temperature=temperature, max_new_tokens=5 + 4 * i)[0] for i, ids in enumerate(PROMPTS)]
        alone = [decode(decoder, [request])[0] for request in todo]
        outcomes = {decoder.add(request): type(alone[0])() for request in todo[:3]}
        run(decoder, outcomes, steps=2)
        cancelled = decoder.add(todo[4])
        outcomes[cancelled] = type(alone[0])()
        run(decoder, outcomes, steps=1)
        decoder.cancel(cancelled)
        del outcomes[cancelled]
        outcomes.update({decoder.add(request): type(alone[0])() for request in todo[3:]})
        run(decoder, outcomes)
        assert [outcome.ids for outcome in outcomes.values()] == [outcome.ids for outcome in alone]
        assert [outcome.stats.steps for outcome in outcomes.values()] == [outcome.stats.steps for outcome in alone]
        assert draft.cache.lengths == []


class TestWhereItHasNoRoom:
    def check(self, made: DraftModelDrafter, prompts: Sequence[Sequence[int]], **options: Any) -> list[Any]:
        base = native(alphabet_model())
        plain = decode(Engine(base, {"none": PlainDrafter()}), requests("none", prompts, **options))
        outcomes = decode(engine(base, made), requests(prompts=prompts, **options))
        assert [outcome.ids for outcome in outcomes] == [outcome.ids for outcome in plain]
        assert [outcome.error for outcome in outcomes] == [None] * len(prompts)
        return outcomes

    def test_a_shorter_context(self) -> None:
        """Sixteen positions: after a prompt of ten the root can stand at most at the sixteenth, with one guess behind it. The
        first root has position 10: roots at 10 and 14 carry three guesses and two, those from position 16 on none."""
        draft = native(alphabet_model(context=16))
        (outcome,) = self.check(drafter(draft, branches=1), [letter_ids("abcdefghij")], max_new_tokens=12)
        assert [len(block) for block in outcome.blocks] == [1, 4, 3, 1, 1, 1, 1]
        assert draft.cache.rows == 0  # a text that has outgrown the draft model holds none of its rows

    def test_a_prompt_beyond_the_context(self) -> None:
        (outcome, other) = self.check(drafter(native(alphabet_model(context=16)), branches=1), [letter_ids("ab") * 9, PROMPTS[0]])
        assert outcome.stats.proposed_tokens == 0
        assert other.stats.proposed_tokens > 0

    def test_fewer_rows_than_the_base_model(self) -> None:
        outcomes = self.check(drafter(native(alphabet_model(), max_rows=2), branches=1), PROMPTS, max_new_tokens=9)
        assert [outcome.stats.steps for outcome in outcomes] == [2, 2, 8, 8, 8]

    def test_fewer_slots_than_the_base_model(self) -> None:
        """Forty slots: two rows of up to twenty."""
        self.check(drafter(native(alphabet_model(), cache_tokens=40), branches=1), PROMPTS)

    def test_fewer_and_more_ids_than_the_base_model(self) -> None:
        """A vocabulary padded differently: unknown ids of a prompt cost the guesses, further ones are never proposed."""
        smaller = drafter(native(build("llama", vocab_size=40)))
        outcomes = self.check(smaller, [[50, 3, 4], [5, 6, 7]])
        assert outcomes[0].stats.proposed_tokens == 0
        assert outcomes[1].stats.proposed_tokens > 0
        larger = drafter(adapter(build("llama", vocab_size=90)))
        self.check(larger, PROMPTS)
        larger.start(0, PROMPTS[0], NO_STATE)
        tree = larger.propose([0], [row([5], temperature=5.0)], [Budget(60, 9)])
        assert int(tree.tokens_BN.max()) < VOCAB
        drawn = larger.propose([0], [row([5], temperature=5.0, draft_temperature=5.0)], [Budget(60, 9)]).drawn
        assert drawn is not None
        assert drawn.q_BPV.shape[-1] == VOCAB
