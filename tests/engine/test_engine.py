"""Where a text ends, what is counted, and what is refused. The model goes on with the next letter, so that texts are known."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from headstart.drafters.plain import PlainDrafter
from headstart.engine import engine as engine_module
from headstart.engine.engine import Engine
from headstart.errors import CapacityError, InvalidParameterError, PromptError
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.trees.shape import TreeShape
from tests.decoding import Outcome, ScriptedDrafter, Spy, StopAt, decode, run
from tests.tiny_models import (
    CONTEXT,
    EOS,
    FIRST_LETTER,
    LETTERS,
    VOCAB,
    adapter,
    alphabet_model,
    build,
    generated,
    letter_ids,
    native,
    tiny,
)


class Grammar:
    """Stateful, as grammars are: it takes each id once and in order, and may not be asked what comes after its last."""

    def __init__(self, last: int) -> None:
        self._last = last
        self.taken: list[int] = []

    def __call__(self, ids_1T: torch.Tensor, scores_1V: torch.Tensor) -> torch.Tensor:
        text = ids_1T[0, 1:].tolist()  # the prompt is one id
        self.taken += text[-1:]
        if self.taken != text or self._last in text:
            raise RuntimeError(f"asked for what follows {text} after {self.taken}")
        return scores_1V


ALPHABET = LETTERS[1:]  # what follows "a"
CHAIN = TreeShape.chain(5)
DRAFTERS = ["none", "right", "wrong"]
"""One token a step; six tokens a step; six nodes of which only the root is ever right."""


def engine(model: Any = None, *, shape: TreeShape = CHAIN, **options: Any) -> Engine:
    known = {tuple(letter_ids("a")): [*letter_ids(ALPHABET), EOS, *letter_ids(LETTERS)]}
    return Engine(
        model or Spy(native(alphabet_model(), **options)),
        {
            "none": PlainDrafter(),
            "right": ScriptedDrafter(known, shape, accuracy=1.0, vocab=VOCAB),
            "wrong": ScriptedDrafter(known, shape, accuracy=0.0, vocab=VOCAB),
        },
        nodes=len(shape),
    )


def one(decoder: Engine, **options: Any) -> Outcome:
    (outcome,) = decode(decoder, [Request(**{"prompt_ids": letter_ids("a"), **options})])
    assert len(outcome.ids) == outcome.stats.emitted_tokens  # ids and usage have one length
    assert decoder.model.cache.rows == 0
    return outcome


@pytest.mark.parametrize("drafter", DRAFTERS)
class TestEnd:
    """The end of a text is the same however many tokens a step brings."""

    @pytest.mark.parametrize("limit", [1, 2, 3, 6, 7, 8, 20])
    def test_length(self, drafter: str, limit: int) -> None:
        outcome = one(engine(), drafter=drafter, max_new_tokens=limit)
        assert (outcome.ids, outcome.finish, outcome.ended_by) == (letter_ids(ALPHABET[:limit]), "length", None)

    @pytest.mark.parametrize("stop", ["b", "c", "e", "g", "h"])
    def test_stop_id_anywhere_in_a_block(self, drafter: str, stop: str) -> None:
        # the first root is b, and with right guesses the first block is c to h
        outcome = one(engine(), drafter=drafter, max_new_tokens=30, stop_ids=frozenset(letter_ids(stop)))
        expected = ALPHABET[: ALPHABET.index(stop) + 1]  # the id that stops is among the ids, and nothing comes after it
        assert (outcome.ids, outcome.finish, outcome.ended_by) == (letter_ids(expected), "stop", "id")

    @pytest.mark.parametrize("last", ["b", "c", "e", "g", "h"])
    def test_a_grammar_is_not_asked_beyond_its_end(self, drafter: str, last: str) -> None:
        # right guesses go on after the stop id in the same block; plain decoding would never ask there
        grammar = Grammar(*letter_ids(last))
        params = SamplingParams(logits_processors=[grammar])
        outcome = one(engine(), drafter=drafter, max_new_tokens=30, stop_ids=frozenset(letter_ids(last)), params=params)
        expected = letter_ids(ALPHABET[: ALPHABET.index(last) + 1])
        assert (outcome.ids, outcome.finish, outcome.error) == (expected, "stop", None)
        assert grammar.taken == expected[:-1]

    def test_the_earliest_of_several_stop_ids(self, drafter: str) -> None:
        outcome = one(engine(), drafter=drafter, max_new_tokens=30, stop_ids=frozenset({EOS, *letter_ids("gei")}))
        assert (outcome.ids, outcome.finish) == (letter_ids("bcde"), "stop")

    def test_end_of_text_id(self, drafter: str) -> None:
        outcome = one(engine(), drafter=drafter, stop_ids=frozenset({EOS}))
        assert (outcome.ids, outcome.finish) == ([*letter_ids(ALPHABET), EOS], "stop")

    @pytest.mark.parametrize(("limit", "finish"), [(3, "length"), (4, "stop"), (5, "stop")])
    def test_a_stop_beats_length_when_earlier_or_equal(self, drafter: str, limit: int, finish: str) -> None:
        # e is the fourth token
        outcome = one(engine(), drafter=drafter, max_new_tokens=limit, stop_ids=frozenset(letter_ids("e")))
        assert (outcome.ids, outcome.finish) == (letter_ids("bcde"[:limit]), finish)

    @pytest.mark.parametrize("last", ["b", "d", "g", "h"])
    def test_matcher(self, drafter: str, last: str) -> None:
        matcher = StopAt(letter_ids(last)[0])
        outcome = one(engine(), drafter=drafter, max_new_tokens=30, matcher=matcher)
        expected = letter_ids(ALPHABET[: ALPHABET.index(last) + 1])
        assert (outcome.ids, outcome.finish, outcome.ended_by) == (expected, "stop", "matcher")
        assert matcher.fed == expected

    @pytest.mark.parametrize(("limit", "finish"), [(3, "length"), (4, "stop")])
    def test_a_matcher_beats_length_when_earlier_or_equal(self, drafter: str, limit: int, finish: str) -> None:
        outcome = one(engine(), drafter=drafter, max_new_tokens=limit, matcher=StopAt(letter_ids("e")[0]))
        assert (outcome.ids, outcome.finish) == (letter_ids("bcde"[:limit]), finish)

    def test_matcher_and_stop_id_in_one_block(self, drafter: str) -> None:
        d, e = letter_ids("de")
        for matched, stop, by in ((d, e, "matcher"), (e, d, "id")):
            outcome = one(engine(), drafter=drafter, matcher=StopAt(matched), stop_ids=frozenset({stop}))
            assert (outcome.ids, outcome.finish, outcome.ended_by) == (letter_ids("bcd"), "stop", by)

    def test_a_stop_id_is_not_fed_to_the_matcher(self, drafter: str) -> None:
        matcher = StopAt(letter_ids("e")[0])  # it would end the text at the id that ends it anyway
        outcome = one(engine(), drafter=drafter, matcher=matcher, stop_ids=frozenset(letter_ids("e")))
        assert (outcome.ids, outcome.ended_by, matcher.fed) == (letter_ids("bcde"), "id", letter_ids("bcd"))

    def test_min_new_tokens_counts_tokens_and_not_steps(self, drafter: str) -> None:
        # d is forbidden as the third token: all other logits are 0, and the tie goes to the lowest id, <pad>, after which
        # comes a; the second d stands beyond the minimum
        stop = letter_ids("d")[0]
        for least, expected in ((2, letter_ids("bcd")), (3, [*letter_ids("bc"), 0, *letter_ids("abcd")])):
            outcome = one(engine(), drafter=drafter, min_new_tokens=least, max_new_tokens=30, stop_ids=frozenset({stop}))
            assert (outcome.ids, outcome.finish) == (expected, "stop")

    def test_min_new_tokens_beyond_the_limit(self, drafter: str) -> None:
        outcome = one(engine(), drafter=drafter, min_new_tokens=9, max_new_tokens=2, stop_ids=frozenset({EOS}))
        assert (outcome.ids, outcome.finish) == (letter_ids("bc"), "length")

    def test_a_stop_id_that_the_model_does_not_have(self, drafter: str) -> None:
        # tokenizers name ids beyond the rows of some LM heads
        outcome = one(engine(), drafter=drafter, min_new_tokens=2, max_new_tokens=4, stop_ids=frozenset({EOS, VOCAB + 5}))
        assert (outcome.ids, outcome.finish, outcome.error) == (letter_ids("bcde"), "length", None)

    @pytest.mark.parametrize("left", [1, 2, 3, 7, 12])
    def test_context_end(self, drafter: str, left: int) -> None:
        model = Spy(native(alphabet_model(context=24)))
        decoder = engine(model)
        prompt = letter_ids("a" * (24 - left))
        decoder.drafters["right"] = ScriptedDrafter({tuple(prompt): letter_ids(ALPHABET)}, CHAIN, accuracy=1.0, vocab=VOCAB)
        decoder.drafters["wrong"] = ScriptedDrafter({tuple(prompt): letter_ids(ALPHABET)}, CHAIN, accuracy=0.0, vocab=VOCAB)
        outcome = one(decoder, prompt_ids=prompt, drafter=drafter)
        assert (outcome.ids, outcome.finish) == (letter_ids(ALPHABET[:left]), "length")
        # a tree is never deeper than the tokens that may still come, of which the step's own next root is one
        assert all(nodes <= max(left - 1, 1) for _, nodes in model.verified)

    def test_max_context(self, drafter: str) -> None:
        outcome = one(engine(), prompt_ids=letter_ids("a"), drafter=drafter, max_context=6)
        assert (outcome.ids, outcome.finish) == (letter_ids("bcdef"), "length")

    @pytest.mark.parametrize("options", [{"max_new_tokens": 1}, {"stop_ids": frozenset(letter_ids("b"))}, {"max_context": 2}])
    def test_no_verify_pass_for_a_text_of_one_token(self, drafter: str, options: dict[str, Any]) -> None:
        decoder = engine()
        outcome = one(decoder, drafter=drafter, **options)
        assert outcome.ids == letter_ids("b")
        assert (decoder.model.verified, outcome.stats.steps) == ([], 0)


@pytest.mark.parametrize("drafter", ["none", "scripted"])
@pytest.mark.parametrize("least", [0, 4, 9])
def test_minimum_and_end_as_transformers_has_them(drafter: str, least: int) -> None:
    pretrained = tiny("llama")
    prompt = [9, 8, 7]
    stops = sorted(set(generated(pretrained, prompt, 40)[2:6]))
    true = generated(pretrained, prompt, 40, eos_token_id=stops, min_new_tokens=least)
    scripted = ScriptedDrafter({tuple(prompt): true}, TreeShape.full([2, 2, 1]), accuracy=0.8, vocab=VOCAB)
    decoder = Engine(native(pretrained), {"none": PlainDrafter(), "scripted": scripted}, nodes=9)
    outcome = one(decoder, prompt_ids=prompt, drafter=drafter, max_new_tokens=40, min_new_tokens=least, stop_ids=frozenset(stops))
    assert outcome.ids == true
    assert least <= len(true)


class TestStats:
    def test_plain_decoding_is_one_token_per_step(self) -> None:
        stats = one(engine(), max_new_tokens=10).stats
        assert (stats.steps, stats.tokens_per_step, stats.proposed_tokens, stats.accepted_per_depth) == (9, 1.0, 0, [])
        assert (stats.prompt_tokens, stats.emitted_tokens) == (1, 10)

    def test_right_guesses(self) -> None:
        # 1 token from prefill, then three steps of five accepted tokens and the next root
        stats = one(engine(), drafter="right", max_new_tokens=19).stats
        assert (stats.steps, stats.tokens_per_step) == (3, 6.0)
        assert (stats.proposed_tokens, stats.accepted_tokens, stats.accepted_per_depth) == (15, 15, [3, 3, 3, 3, 3])

    def test_the_last_tree_is_no_deeper_than_what_is_left(self) -> None:
        # 1, then six, then three that are left: a tree of two and the next root
        stats = one(engine(), drafter="right", max_new_tokens=10).stats
        assert (stats.steps, stats.proposed_tokens, stats.accepted_per_depth) == (2, 7, [2, 2, 1, 1, 1])

    def test_wrong_guesses_cost_passes_and_nothing_else(self) -> None:
        stats = one(engine(), drafter="wrong", max_new_tokens=10).stats
        assert (stats.steps, stats.tokens_per_step, stats.accepted_tokens) == (9, 1.0, 0)
        assert stats.proposed_tokens == 4 * 5 + 4 + 3 + 2 + 1 + 0  # from the fifth step on as deep as what is left

    def test_budget_of_nodes(self) -> None:
        decoder = engine()
        stats = one(decoder, drafter="right", max_new_tokens=16, nodes=3).stats
        assert (stats.tokens_per_step, stats.accepted_per_depth) == (3.0, [5, 5])
        assert {nodes for _, nodes in decoder.model.verified} == {3}

    def test_one_node_is_plain_decoding(self) -> None:
        assert one(engine(), drafter="right", max_new_tokens=5, nodes=1).stats.proposed_tokens == 0

    def test_a_batch_shares_its_passes(self) -> None:
        decoder = engine()
        outcomes = decode(decoder, [Request(prompt_ids=letter_ids("a"), drafter="right", max_new_tokens=7)] * 3)
        assert [outcome.stats.steps for outcome in outcomes] == [1, 1, 1]
        assert decoder.model.verified == [(3, 6)]

    def test_phases_add_up(self) -> None:
        stats = one(engine(), drafter="right", max_new_tokens=19).stats
        assert set(stats.seconds) == {"prefill", "draft", "verify", "accept", "commit", "other"}
        assert all(stats.seconds[phase] > 0 for phase in ("prefill", "draft", "verify", "accept", "commit"))


class TestPrefill:
    def test_the_first_root_is_emitted_at_once(self) -> None:
        decoder = engine()
        number = decoder.add(Request(prompt_ids=letter_ids("a"), drafter="right", max_new_tokens=7))
        first, second = decoder.step(), decoder.step()
        assert [(e.number, list(e.token_ids)) for e in first] == [(number, letter_ids("b"))]
        assert [list(e.token_ids) for e in second] == [letter_ids("cdefgh")]

    @pytest.mark.parametrize("most", [1024, 7])
    def test_logits_of_the_last_position_alone(self, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engine_module, "PREFILL_TOKENS", most)
        decoder = engine()
        decode(decoder, [Request(prompt_ids=letter_ids("a" * n), max_new_tokens=1) for n in (100, 50, 3)])
        assert sum(decoder.model.projected) == 3  # three prompts of 153 positions together

    def test_a_long_prompt_does_not_hold_the_others_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(engine_module, "PREFILL_TOKENS", 10)
        decoder = engine()
        short = decoder.add(Request(prompt_ids=letter_ids("a"), max_new_tokens=8))
        decoder.step()
        long = decoder.add(Request(prompt_ids=letter_ids("z" * 45), max_new_tokens=2))
        heard = [[event.number for event in decoder.step()] for _ in range(5)]
        assert heard == [[short]] * 4 + [[long, short]]  # five chunks, and the running row goes on beside each


class TestRoom:
    def test_a_request_waits_for_a_row(self) -> None:
        decoder = engine(max_rows=2)
        outcomes = decode(decoder, [Request(prompt_ids=letter_ids("a"), max_new_tokens=n) for n in (3, 6, 4, 5)])
        assert [outcome.ids for outcome in outcomes] == [letter_ids(ALPHABET[:n]) for n in (3, 6, 4, 5)]
        assert max(rows for rows, _ in decoder.model.verified) == 2

    def test_a_request_waits_for_slots(self) -> None:
        # a row of 1 + 13 positions and a tree of 6 needs 20: two of them fit into 40 slots, three do not
        decoder = engine(cache_tokens=40)
        outcomes = decode(decoder, [Request(prompt_ids=letter_ids("a"), drafter="right", max_new_tokens=13)] * 5)
        assert [outcome.ids for outcome in outcomes] == [letter_ids(ALPHABET[:13])] * 5
        assert max(rows for rows, _ in decoder.model.verified) == 2

    def test_a_request_that_never_fits(self) -> None:
        decoder = engine(cache_tokens=20)
        with pytest.raises(CapacityError, match=r"a prompt of 2 tokens with up to 13 new ones.*needs 21 cache slots.*is 20"):
            decoder.add(Request(prompt_ids=letter_ids("aa"), drafter="right", max_new_tokens=13))
        assert not decoder.has_work
        assert one(decoder, drafter="right", max_new_tokens=13).ids == letter_ids(ALPHABET[:13])

    @pytest.mark.parametrize(("most", "lengths"), [(1024, (30, 31, 29)), (16, (30, 31, 29)), (16, (17, 8)), (5, (30, 3, 2))])
    def test_prompts_that_fill_the_cache_exactly(self, most: int, lengths: Sequence[int], monkeypatch: pytest.MonkeyPatch) -> None:
        # 17 and 8: one position of the first prompt is left when the second comes with a chunk of 8, which together with
        # the first one's 16 must not ask for more slots than the rows were admitted with
        monkeypatch.setattr(engine_module, "PREFILL_TOKENS", most)
        decoder = engine(cache_tokens=len(lengths) * (max(lengths) + 2 + 1))
        outcomes: dict[int, Outcome] = {}
        for length in lengths:
            request = Request(prompt_ids=letter_ids("z" * (length - 1) + "a"), max_new_tokens=2)
            outcomes[decoder.add(request)] = Outcome()
            run(decoder, outcomes, steps=1)
        run(decoder, outcomes)
        assert [outcome.ids for outcome in outcomes.values()] == [letter_ids("bc")] * len(lengths)

    def test_the_cache_holds_no_more_than_it_may(self) -> None:
        decoder = engine(cache_tokens=64)
        decode(decoder, [Request(prompt_ids=letter_ids("a"), drafter="right", max_new_tokens=n) for n in (3, 25, 9, 40, 7)])
        keys_RHSD, _ = decoder.model.cache.layer(0)
        assert keys_RHSD.shape[0] * keys_RHSD.shape[2] <= 64


class TestRefused:
    @pytest.mark.parametrize(
        ("prompt", "message"),
        [
            ([], "the prompt is empty"),
            ([5] * CONTEXT, f"the prompt has {CONTEXT} tokens and the context {CONTEXT}: no room for one more token"),
            ([5] * (CONTEXT + 9), f"the prompt has {CONTEXT + 9} tokens"),
            ([5, VOCAB], f"ids outside 0 to {VOCAB - 1}"),
            ([5, -1], f"ids outside 0 to {VOCAB - 1}"),
        ],
    )
    def test_prompt(self, prompt: Sequence[int], message: str) -> None:
        decoder = engine()
        with pytest.raises(PromptError, match=message):
            decoder.add(Request(prompt_ids=prompt))
        assert not decoder.has_work

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"max_new_tokens": 0}, "max_new_tokens is 0; expected at least 1"),
            ({"min_new_tokens": -1}, "min_new_tokens is -1; expected at least 0"),
            ({"nodes": 0}, "nodes is 0; expected at least 1"),
            ({"drafter": "oracle"}, r"drafter 'oracle' is not available; expected one of \['none', 'right', 'wrong'\]"),
        ],
    )
    def test_parameter(self, options: dict[str, Any], message: str) -> None:
        decoder = engine()
        with pytest.raises(InvalidParameterError, match=message):
            decoder.add(Request(prompt_ids=letter_ids("a"), **options))
        assert not decoder.has_work

    def test_max_context_below_the_prompt(self) -> None:
        with pytest.raises(PromptError, match="the prompt has 4 tokens and the context 4"):
            engine().add(Request(prompt_ids=letter_ids("abcd"), max_context=4))


@pytest.mark.parametrize("nodes", [(6, 1, 3), (1, 6, 2)])
def test_padding_is_never_accepted(nodes: Sequence[int]) -> None:
    # the model says id 0 everywhere, which is what padding nodes are embedded as; a row of one node must not move by more
    pretrained = build("phi")
    pretrained.lm_head.bias.data[0] = 1e6
    prompts = [[5], [6, 7], [8]]
    scripted = ScriptedDrafter({tuple(prompt): [0] * 12 for prompt in prompts}, CHAIN, accuracy=1.0, vocab=VOCAB)
    decoder = Engine(adapter(pretrained), {"none": PlainDrafter(), "scripted": scripted}, nodes=6)
    outcomes = decode(
        decoder,
        [
            Request(prompt_ids=prompt, drafter="scripted", nodes=n, max_new_tokens=13)
            for prompt, n in zip(prompts, nodes, strict=True)
        ],
    )
    assert [outcome.ids for outcome in outcomes] == [[0] * 13] * 3
    assert [outcome.stats.tokens_per_step for outcome in outcomes] == [float(n) for n in nodes]


def test_at_temperature_above_zero_the_first_root_is_drawn_too() -> None:
    # the successor has p = exp(8 * 0.4) / (exp(8 * 0.4) + 63) = 0.28: 200 seeds that all draw it, or never, are no sample
    # (probability below 1e-28)
    decoder = engine(native(alphabet_model(sharpness=0.4)))
    requests = [
        Request(prompt_ids=letter_ids("a"), seed=i, max_new_tokens=1, params=SamplingParams(temperature=1.0)) for i in range(200)
    ]
    roots = [outcome.ids[0] for outcome in decode(decoder, requests)]
    assert 0 < roots.count(FIRST_LETTER + 1) < 200
    assert len(set(roots)) > 20
