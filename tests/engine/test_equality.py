"""The matrix: model x drafter x tree x batch x parameters, all equal to plain decoding, token for token."""

import random
from functools import cache
from typing import Any

import pytest
import torch

from headstart.drafters.arrangement import GrownTree, StaticTree
from headstart.drafters.combined import CombinedDrafter
from headstart.drafters.draft_model import DraftModelDrafter
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads_source import HeadsSource
from headstart.drafters.hydra import HydraDrafter
from headstart.drafters.hydra_guesses import HydraGuesses
from headstart.drafters.hydra_source import HydraSource
from headstart.drafters.hydra_trees import GrownLevels, LevelTree, StaticLevels
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.mtp import MtpDrafter
from headstart.drafters.ngram import NgramDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.drafters.protocol import Drafter
from headstart.engine.engine import Engine
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.train.mtp.layer_heads import LayerHeads
from headstart.trees.shape import TreeShape
from tests.decoding import ScriptedDrafter, decode, texts
from tests.tiny_models import (
    VOCAB,
    adapter,
    alphabet_model,
    build,
    generated,
    letter_ids,
    native,
    noise_heads,
    noise_mtp_heads,
    tiny,
)

NEW = 20
_random = random.Random(11)
PROMPTS = [[_random.randrange(3, VOCAB) for _ in range(length)] for length in (2, 17, 1, 8, 30)]
MODELS = ["native", "adapter", "windows"]
TREES = {
    "chain": TreeShape.chain(3),
    "wide": TreeShape.full([12]),
    "full": TreeShape.full([4, 3, 2]),
    # the published format: leaves of different depth, in no particular order
    "published": TreeShape([[0], [0, 0], [1], [0, 1], [2], [0, 0, 0], [1, 0], [0, 2], [3], [0, 0, 1], [1, 0, 0], [4]]),
}
PARAMS = {
    "greedy": SamplingParams(),
    "temperature 1": SamplingParams(temperature=1.0),
    "hot": SamplingParams(temperature=2.5),
    "top-k": SamplingParams(temperature=1.0, top_k=5),
    "top-p": SamplingParams(temperature=1.3, top_p=0.8),
    "min-p": SamplingParams(temperature=1.5, min_p=0.05),
    "all": SamplingParams(temperature=0.8, top_k=20, top_p=0.9, min_p=0.02),
}
HEADS: dict[str, dict[str, Any]] = {
    "default": {},
    "own projection": {"projection": "own", "condition_on_root": False},
    "low-rank projection": {"projection": "low-rank", "draft_vocab_size": 20},
    "draft vocabulary": {"draft_vocab_size": 20},
    "two layers": {"num_layers": 2, "block": "mlp"},
}


def base(model: str) -> BaseModel:
    if model == "native":
        return native(tiny("llama"))
    return adapter(tiny("llama" if model == "adapter" else "gemma2"))


def requests(drafter: str, params: str, **options: Any) -> list[Request]:
    return [
        Request(prompt_ids=prompt, drafter=drafter, params=PARAMS[params], max_new_tokens=NEW, seed=100 + i, **options)
        for i, prompt in enumerate(PROMPTS)
    ]


@cache
def plain(model: str, params: str) -> tuple[list[int], ...]:
    return tuple(texts(Engine(base(model), {"none": PlainDrafter()}), requests("none", params)))


def scripted(model: str, params: str, tree: TreeShape, accuracy: float) -> ScriptedDrafter:
    known = {tuple(prompt): text for prompt, text in zip(PROMPTS, plain(model, params), strict=True)}
    return ScriptedDrafter(known, tree, accuracy=accuracy, vocab=VOCAB)


def engine(model: BaseModel, drafter: Drafter, tree: TreeShape) -> Engine:
    return Engine(model, {"none": PlainDrafter(), "guesses": drafter}, nodes=len(tree))


@pytest.mark.parametrize("model", MODELS)
def test_plain_greedy_is_generate(model: str) -> None:
    pretrained = tiny("gemma2" if model == "windows" else "llama")
    assert list(plain(model, "greedy")) == [generated(pretrained, prompt, NEW) for prompt in PROMPTS]


def test_the_two_implementations_draw_the_same() -> None:
    for params in PARAMS:
        assert plain("native", params) == plain("adapter", params), params


@pytest.mark.parametrize("params", PARAMS)
@pytest.mark.parametrize("tree", TREES)
@pytest.mark.parametrize("model", ["native", "windows"])
def test_guesses_right_half_of_the_time(model: str, tree: str, params: str) -> None:
    shape = TREES[tree]
    decoder = engine(base(model), scripted(model, params, shape, 0.5), shape)
    outcomes = decode(decoder, requests("guesses", params))
    assert [outcome.ids for outcome in outcomes] == list(plain(model, params))
    assert sum(outcome.stats.accepted_tokens for outcome in outcomes) > 10  # the guesses were not all in vain
    assert sum(outcome.stats.steps for outcome in outcomes) < 5 * (NEW - 1)


@pytest.mark.parametrize("accuracy", [0.0, 1.0])
@pytest.mark.parametrize("params", ["greedy", "temperature 1"])
@pytest.mark.parametrize("model", MODELS)
def test_guesses_always_or_never_right(model: str, params: str, accuracy: float) -> None:
    shape = TREES["full"]
    outcomes = decode(engine(base(model), scripted(model, params, shape, accuracy), shape), requests("guesses", params))
    assert [outcome.ids for outcome in outcomes] == list(plain(model, params))
    # 19 tokens after the first: a step each, or four a step
    assert {outcome.stats.steps for outcome in outcomes} == ({5} if accuracy else {19})


@pytest.mark.parametrize("params", ["greedy", "all"])
@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("model", ["native", "windows"])
def test_heads_of_noise(model: str, heads: str, params: str) -> None:
    for shape in (TREES["full"], TREES["published"]):
        base_model = base(model)
        guesses = HeadGuesses(noise_heads(base_model, **HEADS[heads]), base_model)
        grown = GrownTree(guesses.heads.config.num_heads, guesses.heads.config.projected_vocab)
        for arrangement in (StaticTree(shape), grown):
            drafter = MedusaDrafter(guesses, arrangement)
            assert texts(engine(base_model, drafter, shape), requests("guesses", params)) == list(plain(model, params))


@pytest.mark.parametrize("tree", [StaticLevels(TREES["published"]), GrownLevels(3, VOCAB)], ids=["static", "grown"])
@pytest.mark.parametrize("params", ["greedy", "temperature 1"])
@pytest.mark.parametrize("model", ["native", "windows"])
def test_hydra_heads_of_noise(model: str, params: str, tree: LevelTree) -> None:
    """Five rows together and one alone."""
    base_model = base(model)
    guesses = HydraGuesses(noise_heads(base_model, kind="hydra"), base_model)
    decoder = engine(base_model, HydraDrafter(guesses, tree), TREES["published"])
    assert texts(decoder, requests("guesses", params)) == list(plain(model, params))
    assert texts(decoder, requests("guesses", params)[1:2]) == [plain(model, params)[1]]


@pytest.mark.parametrize("params", ["greedy", "temperature 1"])
@pytest.mark.parametrize("model", MODELS)
def test_mtp_heads(model: str, params: str) -> None:
    """Heads with a cache of their own: of noise, and with the model's own last layer, whose first guesses are its next token."""
    base_model = base(model)
    heads = noise_mtp_heads(base_model)
    if model != "windows":
        heads.layers[0] = LayerHeads(build("llama"), 1).layers[0].requires_grad_(False)
    guesses = HeadGuesses(heads, base_model)
    for arrangement in (StaticTree(TREES["full"]), GrownTree(3, VOCAB)):
        decoder = engine(base_model, MtpDrafter(guesses, base_model, arrangement), TREES["full"])
        outcomes = decode(decoder, requests("guesses", params))
        assert [outcome.ids for outcome in outcomes] == list(plain(model, params))
        stops = frozenset(outcomes[0].ids[4:5])
        stopped = texts(decoder, requests("guesses", params, stop_ids=stops))
        assert stopped == texts(decoder, requests("none", params, stop_ids=stops))
    alone = [decode(decoder, [request])[0] for request in requests("guesses", params)]
    assert [outcome.ids for outcome in alone] == list(plain(model, params))
    # a head reads its own row alone: the same guesses, so the same steps, whoever stands beside it
    assert [outcome.stats.steps for outcome in alone] == [outcome.stats.steps for outcome in outcomes]


@pytest.mark.parametrize("params", ["greedy", "all"])
@pytest.mark.parametrize(("draft", "branches"), [("noise", None), ("itself", 1)])
@pytest.mark.parametrize("model", ["native", "windows"])
def test_draft_models(model: str, draft: str, branches: int | None, params: str) -> None:
    """Five rows together and each alone, to the end and to a stop. As its own draft model a model guesses everything right."""
    drafting = base(model) if draft == "itself" else native(build("llama", num_hidden_layers=1, hidden_size=16, head_dim=4))
    drafter = DraftModelDrafter(drafting, vocab_size=VOCAB, confidence=0.0, branches=branches)
    decoder = engine(base(model), drafter, TREES["chain"])
    outcomes = decode(decoder, requests("guesses", params))
    assert [outcome.ids for outcome in outcomes] == list(plain(model, params))
    if draft == "itself":
        assert {outcome.stats.steps for outcome in outcomes} == {5}  # 19 tokens after the first, four a step
    alone = [decode(decoder, [request])[0] for request in requests("guesses", params)]
    assert [outcome.ids for outcome in alone] == list(plain(model, params))
    # the draft model reads each text by itself: the same guesses, so the same steps, whoever stands beside it
    assert [outcome.stats.steps for outcome in alone] == [outcome.stats.steps for outcome in outcomes]
    stops = frozenset(outcomes[0].ids[4:5])
    assert texts(decoder, requests("guesses", params, stop_ids=stops)) == texts(decoder, requests("none", params, stop_ids=stops))
    assert drafting.cache.lengths == []


@pytest.mark.parametrize("broken", [0, 1, 2])
@pytest.mark.parametrize("params", ["greedy", "temperature 1"])
def test_heads_that_overflow(params: str, broken: int) -> None:
    """One head that says nothing but NaN, as heads in float16 can, costs guesses and never the root its place in the tree."""
    base_model = base("native")
    heads = noise_heads(base_model)
    with torch.no_grad():
        heads.block_bias[:, broken] = torch.nan
    guesses = HeadGuesses(heads, base_model)
    for arrangement in (StaticTree(TREES["full"]), GrownTree(3, VOCAB)):
        drafter = MedusaDrafter(guesses, arrangement)
        assert texts(engine(base_model, drafter, TREES["full"]), requests("guesses", params)) == list(plain("native", params))


def test_a_temperature_next_to_zero() -> None:
    """Divided by it every logit overflows; the text is the greedy one, and heads guess as if it were a little warmer."""
    base_model = base("native")
    coldest = SamplingParams(temperature=5e-324)
    for arrangement in (StaticTree(TREES["full"]), GrownTree(3, VOCAB)):
        drafter = MedusaDrafter(HeadGuesses(noise_heads(base_model), base_model), arrangement)
        cold = [Request(prompt_ids=ids, drafter="guesses", params=coldest, max_new_tokens=NEW) for ids in PROMPTS]
        outcomes = decode(engine(base_model, drafter, TREES["full"]), cold)
        assert [outcome.ids for outcome in outcomes] == list(plain("native", "greedy"))


@pytest.mark.parametrize("nodes", [1, 2, 5, 12, 1000])
@pytest.mark.parametrize("params", ["greedy", "temperature 1"])
def test_budgets(params: str, nodes: int) -> None:
    shape = TREES["published"]
    decoder = engine(base("native"), scripted("native", params, shape, 0.7), shape)
    assert texts(decoder, requests("guesses", params, nodes=nodes)) == list(plain("native", params))


@pytest.mark.parametrize("params", ["greedy", "temperature 1"])
@pytest.mark.parametrize("model", MODELS)
def test_one_by_one_and_in_any_order(model: str, params: str) -> None:
    shape = TREES["full"]
    decoder = engine(base(model), scripted(model, params, shape, 0.6), shape)
    todo = requests("guesses", params)
    assert [texts(decoder, [request])[0] for request in todo] == list(plain(model, params))
    assert texts(decoder, todo[::-1])[::-1] == list(plain(model, params))


def test_greedy_and_sampled_rows_in_one_batch() -> None:
    shape = TREES["full"]
    mixed = [requests("guesses", params)[i] for i, params in enumerate(["greedy", "top-k", "temperature 1", "greedy", "all"])]
    true = [plain("native", params)[i] for i, params in enumerate(["greedy", "top-k", "temperature 1", "greedy", "all"])]
    known = {tuple(request.prompt_ids): text for request, text in zip(mixed, true, strict=True)}
    drafter = ScriptedDrafter(known, shape, accuracy=0.7, vocab=VOCAB)
    assert texts(engine(base("native"), drafter, shape), mixed) == true


def test_the_seed_and_nothing_else() -> None:
    decoder = Engine(base("native"), {"none": PlainDrafter()})
    params = PARAMS["temperature 1"]

    def text(seed: int, prompt: int = 0) -> list[int]:
        return texts(decoder, [Request(prompt_ids=PROMPTS[prompt], params=params, seed=seed, max_new_tokens=NEW)])[0]

    assert text(7) == text(7)
    # 20 tokens of a flat distribution: that two seeds agree on all of them has no chance
    assert len({tuple(text(seed)) for seed in (7, 8, -7, 0, 2**62)}) == 5
    batch = [Request(prompt_ids=PROMPTS[0], params=params, seed=seed, max_new_tokens=NEW) for seed in (8, 7, 8)]
    assert texts(decoder, batch) == [text(8), text(7), text(8)]


class TestFromTheTextItself:
    """N-grams alone and with heads of noise, on random models (hardly a guess is right) and on the alphabet (many are)."""

    LETTERS = ("abcdefghijklmnopqrstuvwxyzabc", "mnopqrmnopqrm", "x", "aababcabcd", "WXYZ .,!?:;-")

    def engine(self, model: str, nodes: int = 8) -> Engine:
        base_model = native(alphabet_model(sharpness=0.8)) if model == "alphabet" else base(model)
        guesses = HeadGuesses(noise_heads(base_model), base_model)
        hydra = HydraGuesses(noise_heads(base_model, kind="hydra"), base_model)
        drafters: dict[str, Drafter] = {
            "none": PlainDrafter(),
            "ngram": NgramDrafter(),
            "every ngram": NgramDrafter(least_worth=0.0, longest=3),
            "combined": CombinedDrafter((NgramDrafter(), HeadsSource(guesses, None))),
            "with hydra": CombinedDrafter((NgramDrafter(), HydraSource(hydra, None))),
        }
        return Engine(base_model, drafters, nodes=nodes)

    def requests(self, model: str, drafter: str, params: str, **options: Any) -> list[Request]:
        prompts = [letter_ids(text) for text in self.LETTERS] if model == "alphabet" else [prompt * 2 for prompt in PROMPTS]
        return [
            Request(prompt_ids=prompt, drafter=drafter, params=PARAMS[params], max_new_tokens=2 * NEW, seed=i, **options)
            for i, prompt in enumerate(prompts)
        ]

    @pytest.mark.parametrize("params", ["greedy", "temperature 1", "top-p"])
    @pytest.mark.parametrize("drafter", ["ngram", "every ngram", "combined"])
    @pytest.mark.parametrize("model", ["native", "windows", "alphabet"])
    def test_five_together_and_each_alone(self, model: str, drafter: str, params: str) -> None:
        decoder = self.engine(model)
        plainly = texts(decoder, self.requests(model, "none", params))
        outcomes = decode(decoder, self.requests(model, drafter, params))
        assert [outcome.ids for outcome in outcomes] == plainly
        steps = [outcome.stats.steps for outcome in outcomes]
        alone = [decode(decoder, [request])[0] for request in self.requests(model, drafter, params)]
        assert [outcome.ids for outcome in alone] == plainly
        # what a row has learned of its text is its own: the same trees, so the same steps, whoever stands beside it
        assert [outcome.stats.steps for outcome in alone] == steps
        assert [outcome.stats.proposed_tokens for outcome in alone] == [outcome.stats.proposed_tokens for outcome in outcomes]
        if model == "alphabet":
            assert sum(outcome.stats.accepted_tokens for outcome in outcomes) > 10  # the guesses were not all in vain

    @pytest.mark.parametrize("nodes", [1, 2, 5, 30])
    @pytest.mark.parametrize("params", ["greedy", "temperature 1"])
    @pytest.mark.parametrize("drafter", ["ngram", "combined", "with hydra"])
    def test_budgets(self, drafter: str, params: str, nodes: int) -> None:
        decoder = self.engine("alphabet", nodes)
        outcomes = decode(decoder, self.requests("alphabet", drafter, params))
        assert [outcome.ids for outcome in outcomes] == texts(decoder, self.requests("alphabet", "none", params))
        assert all(outcome.stats.proposed_tokens <= (nodes - 1) * outcome.stats.steps for outcome in outcomes)

    @pytest.mark.parametrize("params", ["greedy", "temperature 1"])
    def test_drafters_in_one_batch(self, params: str) -> None:
        """Rows with their own drafters, budgets and stops; each writes what it writes plainly."""
        decoder = self.engine("alphabet")
        stops = {"stop_ids": frozenset(letter_ids("f"))}
        drafters = ["ngram", "combined", "none", "every ngram", "with hydra"]
        mixed = [self.requests("alphabet", name, params, nodes=2 + 3 * i, **stops)[i] for i, name in enumerate(drafters)]
        outcomes = decode(decoder, mixed)
        true = decode(decoder, self.requests("alphabet", "none", params, **stops))
        assert [(outcome.ids, outcome.finish) for outcome in outcomes] == [(outcome.ids, outcome.finish) for outcome in true]
