"""The bundled model in float32: heads, guesses, batches and implementations against transformers' own ``generate``.

float32, because in bfloat16 a pass of another shape rounds otherwise and near-ties flip between engines.
"""

from functools import lru_cache

import pytest
from transformers import PreTrainedModel

from headstart.drafters.arrangement import GrownTree, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.finding_heads import find_heads
from headstart.llm import LLM
from headstart.models.loading import load_model
from headstart.models.source import find, load_pretrained
from headstart.models.transformers_adapter import TransformersModel
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.text.tokenizer import Tokenizer
from headstart.trees.shape import TreeShape
from tests.decoding import ScriptedDrafter, texts
from tests.tiny_models import generated, noise_heads

pytestmark = pytest.mark.bundled

NEW = 16
QUESTIONS = ["How do I reset my password?", "Translate to French: the cat sleeps.", "1, 2, 3,"]
TREE = TreeShape.full([2, 2, 1])


@lru_cache(maxsize=1)
def llm() -> LLM:
    """The native decoder, with the heads that ship, or heads of noise where there are none."""
    base, tokenizer = load_model("bundled", dtype="float32", device="cpu")
    assert tokenizer is not None
    heads = find_heads("bundled", "auto") or HeadsDirectory(noise_heads(base), TREE)
    return LLM(base, Tokenizer(tokenizer), heads=heads)


@lru_cache(maxsize=1)
def pretrained() -> PreTrainedModel:
    return load_pretrained(find("bundled"), "float32", "cpu")[0]


@lru_cache(maxsize=1)
def prompts() -> list[list[int]]:
    tokenizer = llm().tokenizer
    assert tokenizer is not None
    return [tokenizer.chat_ids(question) for question in QUESTIONS]


@lru_cache(maxsize=1)
def true() -> list[list[int]]:
    """What transformers writes; past the end of the text, so that all are equally long."""
    return [generated(pretrained(), prompt, NEW) for prompt in prompts()]


def test_greedy_is_generate() -> None:
    assert llm().model.facts.implementation == "native"
    options = {"max_new_tokens": NEW, "ignore_eos": True}
    for drafter in ("none", "medusa"):
        together = llm().generate(prompts(), drafter=drafter, **options)
        assert [list(out.token_ids) for out in together] == true(), drafter
    assert list(llm().generate(prompts()[0], **options).token_ids) == true()[0]


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_guesses_change_nothing(temperature: float) -> None:
    params = SamplingParams(temperature=temperature, top_p=0.95)
    model = llm().model

    def requests(drafter: str) -> list[Request]:
        return [
            Request(prompt_ids=prompt, drafter=drafter, max_new_tokens=NEW, params=params, seed=i)
            for i, prompt in enumerate(prompts())
        ]

    plain = texts(Engine(model, {"none": PlainDrafter()}), requests("none"))
    known = {tuple(prompt): text for prompt, text in zip(prompts(), plain, strict=True)}
    noise = HeadGuesses(noise_heads(model), model)
    drafters = {
        "none": PlainDrafter(),
        "scripted": ScriptedDrafter(known, TREE, accuracy=0.7, vocab=model.facts.vocab_size),
        "noise": MedusaDrafter(noise, StaticTree(TREE)),
        "noise, grown": MedusaDrafter(noise, GrownTree(noise.heads.config.num_heads, noise.heads.config.projected_vocab)),
    }
    for drafter in ("scripted", "noise", "noise, grown"):
        assert texts(Engine(model, drafters, nodes=len(TREE)), requests(drafter)) == plain, drafter
    if temperature == 0:
        assert plain == true()


def test_the_adapter_writes_the_same() -> None:
    model = TransformersModel(pretrained(), max_rows=4, cache_tokens=1024)
    known = {tuple(prompts()[0]): true()[0]}
    scripted = ScriptedDrafter(known, TREE, accuracy=0.7, vocab=model.facts.vocab_size)
    engine = Engine(model, {"none": PlainDrafter(), "scripted": scripted}, nodes=len(TREE))
    assert texts(engine, [Request(prompt_ids=prompts()[0], drafter="scripted", max_new_tokens=NEW)]) == true()[:1]


def test_the_heads_that_ship_earn_their_place() -> None:
    heads = find_heads("bundled", "auto")
    assert heads is not None, "the package ships heads for the bundled model"
    outs = llm().generate(prompts(), max_new_tokens=48, ignore_eos=True)
    steps = sum(out.stats.steps for out in outs)
    assert sum(out.stats.emitted_tokens - 1 for out in outs) / steps > 1.3  # measured on many prompts it is well above
