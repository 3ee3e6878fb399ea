"""Every sampling parameter under drafters that guess always wrong, half wrong, right and at random: the same text as plain
decoding, and at temperature 0 the text of transformers' ``generate`` with the same processors.

The logits of the model are flattened, so that penalties and biases change many tokens of each text.
"""

from collections import Counter
from functools import cache
from typing import Any

import pytest
import torch
from transformers import LogitsProcessorList, PreTrainedModel

from headstart.drafters.arrangement import GrownTree, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.errors import InvalidParameterError
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.trees.shape import TreeShape
from tests.decoding import ScriptedDrafter, decode, texts
from tests.tiny_models import VOCAB, build, generated, native, noise_heads

NEW = 20
PROMPTS = [[5, 9], [40, 41, 42, 40, 41, 7, 8], [33], [11, 12, 13, 14]]
SHAPE = TreeShape.full([3, 2, 2])
EVEN = list(range(0, VOCAB, 2))


def penalize_output(ids_1T: torch.Tensor, scores_1V: torch.Tensor, prompt: int, presence: float, frequency: float) -> torch.Tensor:
    """OpenAI's formula, a token at a time."""
    for token, times in Counter(ids_1T[0, prompt:].tolist()).items():
        scores_1V[0, token] -= presence + frequency * times
    return scores_1V


def no_neighbours(ids_1T: torch.Tensor, scores_1V: torch.Tensor) -> torch.Tensor:
    """Forbids the last id and those next to it, in place: a processor that depends on the path."""
    last = int(ids_1T[0, -1])
    scores_1V[:, max(last - 1, 0) : last + 2] = -torch.inf
    return scores_1V


class OnlyThirds:
    """A processor that is an object, and one that returns a new tensor."""

    def __call__(self, ids_1T: torch.Tensor, scores_1V: torch.Tensor) -> torch.Tensor:
        allowed = torch.arange(VOCAB) % 3 == ids_1T.shape[1] % 3
        return scores_1V.masked_fill(~allowed, -torch.inf)


def _greedy_pairs() -> tuple[list[int], list[int]]:
    """Pairs of ids that plain greedy decoding writes one after the other, so that forbidding them changes the text."""
    text = generated(flat_model(), PROMPTS[1], NEW)
    return text[2:4], text[:3]


@cache
def flat_model() -> PreTrainedModel:
    model = build("llama")
    with torch.no_grad():
        model.lm_head.weight.mul_(0.1)
    return model


@cache
def cases() -> dict[str, tuple[dict[str, Any], dict[str, Any]]]:
    """Our parameters, and those of ``generate`` that mean the same ("custom" where a processor of ours has to stand in)."""
    pair, triple = _greedy_pairs()
    words = [[9], pair, triple, [40, 41]]
    return {
        "repetition": ({"repetition_penalty": 1.3}, {"repetition_penalty": 1.3}),
        "repetition rewarded": ({"repetition_penalty": 0.8}, {"repetition_penalty": 0.8}),
        "presence": ({"presence_penalty": 1.5}, {"custom": (1.5, 0.0)}),
        "frequency": ({"frequency_penalty": -0.7}, {"custom": (0.0, -0.7)}),
        "presence and frequency": ({"presence_penalty": -0.5, "frequency_penalty": 0.9}, {"custom": (-0.5, 0.9)}),
        "bias": ({"logit_bias": {3: 1.5, 17: -2.0, 50: 2.0}}, {"sequence_bias": [[[3], 1.5], [[17], -2.0], [[50], 2.0]]}),
        "bad words": ({"bad_words": words}, {"bad_words_ids": words}),
        "allowed": ({"allowed_token_ids": EVEN}, {"prefix_allowed_tokens_fn": lambda batch, ids: EVEN}),
        "processor in place": ({"logits_processors": [no_neighbours]}, {"logits_processor": LogitsProcessorList([no_neighbours])}),
        "processors": (
            {"logits_processors": [no_neighbours, OnlyThirds()]},
            {"logits_processor": LogitsProcessorList([no_neighbours, OnlyThirds()])},
        ),
        "all": (
            {
                "repetition_penalty": 1.2,
                "logit_bias": {3: 1.0, 8: 2.0},
                "bad_words": words,
                "allowed_token_ids": [*EVEN, 3, 9],
                "logits_processors": [no_neighbours],
            },
            {
                "repetition_penalty": 1.2,
                "sequence_bias": [[[3], 1.0], [[8], 2.0]],
                "bad_words_ids": words,
                "prefix_allowed_tokens_fn": lambda batch, ids: [*EVEN, 3, 9],
                "logits_processor": LogitsProcessorList([no_neighbours]),
            },
        ),
        "typical": ({"typical_p": 0.6}, {}),
    }


NAMES = [
    "repetition", "repetition rewarded", "presence", "frequency", "presence and frequency", "bias", "bad words", "allowed",
    "processor in place", "processors", "all", "typical",
]  # fmt: skip
WARMTHS: dict[str, dict[str, Any]] = {"greedy": {}, "sampled": {"temperature": 0.9, "top_k": 30, "top_p": 0.95, "min_p": 0.01}}


def base() -> BaseModel:
    return native(flat_model())


def requests(drafter: str, name: str, warmth: str, **options: Any) -> list[Request]:
    params = SamplingParams(**cases()[name][0], **WARMTHS[warmth])
    return [
        Request(prompt_ids=prompt, drafter=drafter, params=params, max_new_tokens=NEW, seed=50 + i, **options)
        for i, prompt in enumerate(PROMPTS)
    ]


@cache
def plain(name: str, warmth: str) -> tuple[list[int], ...]:
    return tuple(texts(Engine(base(), {"none": PlainDrafter()}), requests("none", name, warmth)))


@cache
def untouched(warmth: str) -> tuple[list[int], ...]:
    params = SamplingParams(**WARMTHS[warmth])
    todo = [Request(prompt_ids=p, params=params, max_new_tokens=NEW, seed=50 + i) for i, p in enumerate(PROMPTS)]
    return tuple(texts(Engine(base(), {"none": PlainDrafter()}), todo))


def test_the_names_are_all_cases() -> None:
    assert list(cases()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_greedy_text_is_that_of_generate(name: str) -> None:
    expected = []
    for prompt in PROMPTS:
        options = dict(cases()[name][1])
        if "custom" in options:
            presence, frequency = options.pop("custom")
            length = len(prompt)
            options["logits_processor"] = LogitsProcessorList(
                [lambda ids, scores, n=length, p=presence, f=frequency: penalize_output(ids, scores, n, p, f)]
            )
        expected.append(generated(flat_model(), prompt, NEW, **options))
    assert list(plain(name, "greedy")) == expected
    changed = plain(name, "greedy") != untouched("greedy")
    assert changed == (name != "typical")  # a filter, which greedy decoding does not use


def test_typical_p_changes_sampled_text() -> None:
    assert plain("typical", "sampled") != untouched("sampled")


@pytest.mark.parametrize("warmth", WARMTHS)
@pytest.mark.parametrize("accuracy", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", NAMES)
def test_guesses_do_not_change_the_text(name: str, accuracy: float, warmth: str) -> None:
    known = {tuple(prompt): text for prompt, text in zip(PROMPTS, plain(name, warmth), strict=True)}
    drafter = ScriptedDrafter(known, SHAPE, accuracy=accuracy, vocab=VOCAB)
    decoder = Engine(base(), {"none": PlainDrafter(), "guesses": drafter}, nodes=len(SHAPE))
    outcomes = decode(decoder, requests("guesses", name, warmth))
    assert [outcome.error for outcome in outcomes] == [None] * len(PROMPTS)
    assert [outcome.ids for outcome in outcomes] == list(plain(name, warmth))
    # 19 tokens after the first: a step each where guesses are wrong, four a step where they are right
    if accuracy in (0.0, 1.0):
        assert {outcome.stats.steps for outcome in outcomes} == ({5} if accuracy else {19})


@pytest.mark.parametrize("warmth", WARMTHS)
@pytest.mark.parametrize("name", NAMES)
def test_heads_of_noise_do_not_change_the_text(name: str, warmth: str) -> None:
    model = base()
    guesses = HeadGuesses(noise_heads(model), model)
    grown = GrownTree(guesses.heads.config.num_heads, guesses.heads.config.projected_vocab)
    for arrangement in (StaticTree(SHAPE), grown):
        decoder = Engine(model, {"none": PlainDrafter(), "guesses": MedusaDrafter(guesses, arrangement)}, nodes=len(SHAPE))
        assert texts(decoder, requests("guesses", name, warmth)) == list(plain(name, warmth))


def test_different_parameters_in_one_batch() -> None:
    todo = [requests("none", name, warmth)[i % 4] for i, name in enumerate(NAMES) for warmth in WARMTHS]
    expected = [plain(name, warmth)[i % 4] for i, name in enumerate(NAMES) for warmth in WARMTHS]
    assert texts(Engine(base(), {"none": PlainDrafter()}), todo) == expected


def test_min_new_tokens_with_the_others() -> None:
    """Ids that the text would otherwise begin with end it, but not before the twelfth."""
    stop_ids = frozenset(token for text in plain("repetition", "greedy") for token in text[:6])
    todo = requests("none", "repetition", "greedy", stop_ids=stop_ids, min_new_tokens=12)
    true = texts(Engine(base(), {"none": PlainDrafter()}), todo)
    for prompt, text in zip(PROMPTS, true, strict=True):
        options = {"repetition_penalty": 1.3, "eos_token_id": sorted(stop_ids), "min_new_tokens": 12}
        assert text == generated(flat_model(), prompt, NEW, **options)
        assert not stop_ids & set(text[:12])
    drafter = ScriptedDrafter(dict(zip(map(tuple, PROMPTS), true)), SHAPE, accuracy=0.7, vocab=VOCAB)
    decoder = Engine(base(), {"none": PlainDrafter(), "guesses": drafter}, nodes=len(SHAPE))
    assert texts(decoder, requests("guesses", "repetition", "greedy", stop_ids=stop_ids, min_new_tokens=12)) == true


def test_a_processor_sees_each_place_once_and_in_order() -> None:
    """Also with guesses: one that counts its calls, for want of something better, does no harm in a batch of one."""
    seen: list[list[int]] = []

    def record(ids_1T: torch.Tensor, scores_1V: torch.Tensor) -> torch.Tensor:
        seen.append(ids_1T[0].tolist())
        return scores_1V

    (true,) = texts(Engine(base(), {"none": PlainDrafter()}), [Request(prompt_ids=[33], max_new_tokens=NEW)])
    drafter = ScriptedDrafter({(33,): true}, SHAPE, accuracy=0.6, vocab=VOCAB)
    decoder = Engine(base(), {"none": PlainDrafter(), "guesses": drafter}, nodes=len(SHAPE))
    params = SamplingParams(logits_processors=[record])
    assert texts(decoder, [Request(prompt_ids=[33], max_new_tokens=NEW, drafter="guesses", params=params)]) == [true]
    assert seen == [[33, *true[:n]] for n in range(NEW)]


class TestMistakes:
    def test_a_row_that_may_say_nothing_fails_alone(self) -> None:
        """The only allowed id ends the text, which is forbidden so early."""
        params = SamplingParams(allowed_token_ids=[2])
        todo = [
            Request(prompt_ids=[5], max_new_tokens=5, params=params, stop_ids=frozenset({2}), min_new_tokens=3),
            Request(prompt_ids=[5], max_new_tokens=5),
        ]
        bad, good = decode(Engine(base(), {"none": PlainDrafter()}), todo)
        assert (bad.finish, bad.ids) == ("error", [])
        assert isinstance(bad.error, InvalidParameterError)
        assert "no token is left after 0 new ones" in str(bad.error)
        assert good.ids == generated(flat_model(), [5], 5)

    def test_a_processor_that_raises_takes_nobody_along(self) -> None:
        def picky(ids_1T: torch.Tensor, scores_1V: torch.Tensor) -> torch.Tensor:
            if ids_1T.shape[1] == 4:
                raise RuntimeError("no fourth token")
            return scores_1V

        todo = [Request(prompt_ids=[5], max_new_tokens=9, params=SamplingParams(logits_processors=[picky]))]
        todo += [Request(prompt_ids=[7], max_new_tokens=9)]
        bad, good = decode(Engine(base(), {"none": PlainDrafter()}), todo)
        assert (str(bad.error), bad.ids) == ("no fourth token", generated(flat_model(), [5], 3))
        assert good.ids == generated(flat_model(), [7], 9)

    def test_ids_and_rules_are_checked_before_anything_is_queued(self) -> None:
        decoder = Engine(base(), {"none": PlainDrafter()})
        for request, message in (
            (Request(prompt_ids=[5], params=SamplingParams(logit_bias={VOCAB: 1.0})), f"logit_bias names the id {VOCAB}"),
            (Request(prompt_ids=[5], acceptance="nucleus"), "acceptance 'nucleus' is not known"),
            (Request(prompt_ids=[5], acceptance_options={"delta": 0.1}), "delta is no parameter of the acceptance 'exact'"),
            (Request(prompt_ids=[5], logprobs=-1), "logprobs is -1; expected at least 0"),
        ):
            with pytest.raises(InvalidParameterError, match=message):
                decoder.add(request)
        assert not decoder.has_work
