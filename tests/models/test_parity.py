"""Every family writes what transformers' own ``generate`` writes, token for token, whatever the guesses, batch and chunks.

Right guesses are mixed with wrong ones, so that nodes are accepted from anywhere in the tree and the cache has to gather them.
"""

import random
from functools import cache

import pytest

from headstart.drafters.arrangement import StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.engine import engine as engine_module
from headstart.engine.engine import Engine
from headstart.models.self_check import check_tree_passes
from headstart.request import Request
from headstart.sampling.params import SamplingParams
from headstart.trees.shape import TreeShape
from tests.decoding import ScriptedDrafter, texts
from tests.tiny_models import CONTEXT, FAMILIES, VOCAB, adapter, generated, noise_heads, tiny

NEW = 14
_random = random.Random(0)
# from shorter than the sliding window (7) to much longer
PROMPTS = [[_random.randrange(3, VOCAB) for _ in range(length)] for length in (1, 3, 6, 11, 20)]
TREE = TreeShape.full([3, 2, 2])
NODES = [None, 2, 1, 6, 9]


@cache
def expected(family: str) -> tuple[list[int], ...]:
    return tuple(generated(tiny(family), prompt, NEW) for prompt in PROMPTS)


def engine(family: str, known: dict[tuple[int, ...], list[int]]) -> Engine:
    model = adapter(tiny(family))
    drafters = {
        "none": PlainDrafter(),
        "scripted": ScriptedDrafter(known, TREE, accuracy=0.7, vocab=VOCAB),
        "medusa": MedusaDrafter(HeadGuesses(noise_heads(model), model), StaticTree(TREE)),
    }
    return Engine(model, drafters, nodes=len(TREE))


def requests(drafter: str, temperature: float = 0.0) -> list[Request]:
    params = SamplingParams(temperature=temperature)
    return [
        Request(prompt_ids=prompt, drafter=drafter, max_new_tokens=NEW, nodes=nodes, params=params, seed=i)
        for i, (prompt, nodes) in enumerate(zip(PROMPTS, NODES, strict=True))
    ]


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_is_generate(family: str) -> None:
    true = list(expected(family))
    decoder = engine(family, {tuple(p): t for p, t in zip(PROMPTS, true, strict=True)})
    assert max(len(set(text)) for text in true) > 3  # no loop, which any mistake would survive
    for drafter in ("none", "scripted", "medusa"):
        assert texts(decoder, requests(drafter)) == true, drafter  # five rows of different lengths and trees in a batch
    alone = [texts(decoder, [request])[0] for request in requests("scripted")]
    assert alone == true
    assert decoder.model.cache.rows == 0


@pytest.mark.parametrize("family", FAMILIES)
def test_sampled_is_plain(family: str) -> None:
    # the noise depends on seed, position and id alone, so that guesses cannot change the draw
    plain = texts(engine(family, {}), requests("none", temperature=1.0))
    decoder = engine(family, {tuple(p): t for p, t in zip(PROMPTS, plain, strict=True)})
    assert plain != list(expected(family))
    for drafter in ("scripted", "medusa"):
        assert texts(decoder, requests(drafter, temperature=1.0)) == plain, drafter


@pytest.mark.parametrize("family", FAMILIES)
def test_chunks_of_a_prompt_change_nothing(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "PREFILL_TOKENS", 8)  # chunks of 8 positions or fewer, shared by the rows of a pass
    true = list(expected(family))
    decoder = engine(family, {tuple(p): t for p, t in zip(PROMPTS, true, strict=True)})
    assert texts(decoder, requests("scripted")) == true


@pytest.mark.parametrize("family", FAMILIES)
def test_the_check_at_load_passes(family: str) -> None:
    check_tree_passes(adapter(tiny(family)), tiny(family))


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2", "gpt2", "opt"])
def test_to_the_last_position_of_the_context(family: str) -> None:
    # the last token that fits is the one chosen after position context - 1, which makes the text as long as the context;
    # padding nodes and deep trees must not ask a learned table for positions that it does not have
    prompt = PROMPTS[4] * 6  # 120 of 128 positions
    true = generated(tiny(family), prompt, CONTEXT - len(prompt))
    decoder = engine(family, {tuple(prompt): true, tuple(PROMPTS[0]): list(expected(family)[0])})
    for drafter in ("none", "scripted", "medusa"):
        both = [Request(prompt_ids=prompt, drafter=drafter), Request(prompt_ids=PROMPTS[0], drafter=drafter, max_new_tokens=NEW)]
        assert texts(decoder, both) == [true, expected(family)[0]], drafter


def test_the_models_own_attention_is_left_as_it_was() -> None:
    model = tiny("llama")
    before = model.config._attn_implementation
    texts(engine("llama", {}), requests("none"))
    assert model.config._attn_implementation == before
    assert not model.training


def test_the_lm_head_sees_the_last_position_of_a_prompt_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny("llama")
    rows: list[int] = []
    head = model.get_output_embeddings()
    hook = head.register_forward_hook(lambda module, args, out: rows.append(out.shape[:-1].numel()))
    try:
        for most in (1024, 32):  # whole, and in chunks
            monkeypatch.setattr(engine_module, "PREFILL_TOKENS", most)
            rows.clear()
            decoder = engine("llama", {})
            prompts = [[5] * 100, [6] * 90, [7] * 3]
            texts(decoder, [Request(prompt_ids=prompt, max_new_tokens=1) for prompt in prompts])
            assert sum(rows) == 3  # one position for each of three prompts
    finally:
        hook.remove()
