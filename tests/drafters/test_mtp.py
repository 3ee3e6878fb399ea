"""MTP heads as a drafter: what they compute, and what they remember of a text."""

from collections.abc import Callable

import pytest
import torch
from transformers import PreTrainedModel

from headstart.drafters.arrangement import GrownTree, StaticTree
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.mtp import MtpDrafter
from headstart.drafters.mtp_cache import MtpCache
from headstart.drafters.mtp_heads import MtpConfig, MtpHeads
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.errors import HeadsError, TreeError
from headstart.models.compiled import CompiledModel
from headstart.models.protocol import BaseModel
from headstart.request import Request
from headstart.train.mtp.layer_heads import LayerHeads
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape
from tests.decoding import decode
from tests.tiny_models import VOCAB, adapter, build, native, noise_mtp_heads, tiny


def states(model: BaseModel, ids: list[int]) -> torch.Tensor:
    """What stands before the last layer, T x D, from one pass over the whole text."""
    model.tap.open()
    model.cache.add_row(len(ids))
    model.prefill(torch.tensor([ids]), 0, [len(ids)])
    model.cache.clear()
    return model.tap.states_BND[0].clone()


def fixed_shapes(pretrained: PreTrainedModel) -> CompiledModel:
    return CompiledModel(native(pretrained), max_rows=4, cache_tokens=4096, backend=None)


@pytest.mark.parametrize("make", [native, adapter, fixed_shapes])
def test_the_tap_is_what_the_last_layer_reads(make: Callable[[PreTrainedModel], BaseModel]) -> None:
    pretrained, ids = build("llama"), [5, 9, 3, 44, 8]
    read: list[torch.Tensor] = []
    pretrained.model.layers[-1].register_forward_pre_hook(lambda _, given: read.append(given[0]))
    pretrained(torch.tensor([ids]))
    # both compute in float64; their norms work in float32 inside
    model = make(build("llama"))
    assert torch.allclose(states(model, ids), read[0][0], atol=1e-5)
    row = model.cache.add_row(40)
    model.prefill(torch.tensor([ids[:3]]), row, [3])
    model.verify(CandidateTree.of_shape(TreeShape.chain(1), torch.tensor([ids[3:]])))
    assert torch.allclose(model.tap.states_BND[0], read[0][0, 3:], atol=1e-5)


def test_one_position_at_a_time_gives_what_the_whole_text_gives() -> None:
    """What a head makes of the last position, from the cache, is what its layer makes of the text at once."""
    model = native(tiny("llama"))
    heads = noise_mtp_heads(model)
    text = states(model, [7, 3, 60, 22, 41, 9, 15, 33])
    cache = MtpCache(heads, max_rows=4, max_tokens=400)
    cache.add(1, text[:2])
    cache.add(0, text[:5])
    cache.read([0])
    cache.add(0, text[5:6])
    cache.add(2, text[:1])
    for row, length in ((0, 6), (1, 2), (2, 1)):
        (expected_KD,) = torch.stack([heads.layer(k)(text[None, :length])[:, -1] for k in range(3)], 1)
        assert torch.allclose(cache.states([row])[0], expected_KD, atol=1e-12)
    together = cache.states([2, 0, 1])  # rows of different lengths, in another order than they came
    assert torch.allclose(together, torch.cat([cache.states([row]) for row in (2, 0, 1)]), atol=1e-12)
    cache.remove(0)  # the last row moves into its place
    cache.add(1, text[2:4])
    assert torch.allclose(cache.states([1])[0], torch.stack([heads.layer(k)(text[None, :4])[0, -1] for k in range(3)]), atol=1e-12)
    cache.remove(0)
    cache.remove(7)
    cache.add(9, text[:3])  # takes a slot that another row has used
    assert torch.allclose(cache.states([9])[0], torch.stack([heads.layer(k)(text[None, :3])[0, -1] for k in range(3)]), atol=1e-12)


def test_a_layer_is_the_models_own_layer() -> None:
    """With the weights of the model's last layer, a head guesses what the model itself says next."""
    pretrained = build("llama")
    model = native(pretrained)
    heads = LayerHeads(pretrained, 3).heads("tiny")
    text = states(model, [7, 3, 60, 22, 41])
    logits_KBV = heads.logits(torch.stack([heads.layer(k)(text[None])[0] for k in range(3)], 1), None, model.lm_head)
    true_TV = pretrained(torch.tensor([[7, 3, 60, 22, 41]])).logits[0]
    assert torch.allclose(logits_KBV, true_TV.expand(3, -1, -1), atol=1e-4)


def test_drafts_are_the_heads_best_guesses_all_along_a_text() -> None:
    """A chain tree holds each head's first guess at the newest position, whatever was accepted before."""
    model = native(tiny("llama"))
    heads = noise_mtp_heads(model)
    drafter = MtpDrafter(HeadGuesses(heads, model), model, StaticTree(TreeShape.chain(3)))
    seen: list[tuple[int, list[int]]] = []
    propose = drafter.propose

    def listening(rows, sampling, budgets):  # type: ignore[no-untyped-def]
        tree = propose(rows, sampling, budgets)
        seen.append((len(sampling[0].generated), tree.tokens_BN[0].tolist()))
        return tree

    drafter.propose = listening  # type: ignore[method-assign]
    prompt = [4, 8, 15, 16, 23, 42]
    (outcome,) = decode(Engine(model, {"mtp": drafter}), [Request(prompt_ids=prompt, drafter="mtp", max_new_tokens=12, seed=1)])
    text = states(native(tiny("llama")), [*prompt, *outcome.ids])
    for generated, tokens in seen:
        if len(tokens) < 4:  # near the end the tree shrinks
            continue
        last = len(prompt) + generated - 1  # positions before the root
        states_BKD = torch.stack([heads.layer(k)(text[None, :last])[:, -1] for k in range(3)], 1)
        assert tokens[1:] == heads.logits(states_BKD, None, model.lm_head)[:, 0].argmax(-1).tolist()
        assert tokens[0] == outcome.ids[generated - 1]
    assert len(seen) > 5


def test_a_finished_row_leaves_nothing() -> None:
    model = native(tiny("llama"))
    drafter = MtpDrafter(HeadGuesses(noise_mtp_heads(model), model), model, GrownTree(3, VOCAB))
    engine = Engine(model, {"none": PlainDrafter(), "mtp": drafter})
    first = engine.add(Request(prompt_ids=[3, 4, 5], drafter="mtp", max_new_tokens=40))
    second = engine.add(Request(prompt_ids=[7, 8], drafter="mtp", max_new_tokens=5))
    finished = [event.number for _ in range(5) for event in engine.step() if event.finish_reason is not None]
    assert finished == [second]  # five tokens take five steps at most
    assert drafter._cache._rows == [first]
    engine.cancel(first)
    assert drafter._cache._rows == []
    assert (drafter._cache._last_D, drafter._cache._waiting) == ({}, {})


def test_a_tree_deeper_than_the_heads_is_refused() -> None:
    model = native(tiny("llama"))
    with pytest.raises(TreeError, match="the tree is 4 deep, but there are 3 heads"):
        MtpDrafter(HeadGuesses(noise_mtp_heads(model), model), model, StaticTree(TreeShape.chain(4)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_heads": 0}, "num_heads is 0"),
        ({"kv_heads": 3}, "4 attention heads of size 8 over 3 key/value heads"),
        ({"rope_theta": -1.0}, "rope_theta is -1.0"),
        ({"norm_eps": "small"}, "norm_eps is 'small'"),
        ({"qkv_bias": 1}, "qkv_bias is 1"),
        ({"kind": "medusa"}, "kind is 'medusa'; expected 'mtp'"),
    ],
)
def test_a_malformed_config(change: dict[str, object], message: str) -> None:
    good = noise_mtp_heads(native(tiny("llama"))).config.to_dict()
    with pytest.raises(HeadsError, match=message):
        MtpConfig(**{**good, **change})


def test_parameters_are_counted() -> None:
    # a layer: 2 norms of 32, qkv 32 x (4 + 2 * 2) * 8, out 32 x 32, gate and up 2 x 32 x 48, down 48 x 32; and the final norm
    assert noise_mtp_heads(native(tiny("llama"))).num_parameters == 3 * (64 + 2048 + 1024 + 3072 + 1536) + 32
    assert isinstance(noise_mtp_heads(native(tiny("llama"))), MtpHeads)
