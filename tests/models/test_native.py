"""The native decoder computes what the transformers adapter does, and says which models it covers."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.models.native import NativeModel, covers
from headstart.models.protocol import BaseModel
from headstart.models.self_check import check_tree_passes
from headstart.request import Request
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape
from tests.decoding import ScriptedDrafter, texts
from tests.tiny_models import VOCAB, adapter, build, generated, native, tiny

LLAMAS: dict[str, Callable[[], PreTrainedModel]] = {
    "grouped heads": lambda: tiny("llama"),
    "one head for all": lambda: build("llama", num_key_value_heads=1),
    "a head for each": lambda: build("llama", num_key_value_heads=4),
    "head size of its own": lambda: build("llama", head_dim=6),
    "tied embeddings": lambda: build("llama", tie_word_embeddings=True),
}
SMALL = TreeShape.full([3, 2, 2])
LARGE = TreeShape.full([4, 4, 4])  # 85 nodes: from 64 on attention is one fused call


def two_rows(model: BaseModel, shape: TreeShape) -> torch.Tensor:
    """Hidden states of two prompts of different lengths and of two trees in a row, the first having been partly accepted."""
    torch.manual_seed(3)
    for _ in range(2):
        model.cache.add_row(200)
    prompts_BT = torch.randint(3, VOCAB, (2, 12))
    prompts_BT[1, 5:] = -1
    prefill_BTD = model.prefill(prompts_BT, 0, [12, 5])
    trees = [CandidateTree.of_shape(shape, torch.randint(3, VOCAB, (2, len(shape)))) for _ in range(2)]
    first_BND = model.verify(trees[0])
    deep = max(range(len(shape)), key=lambda node: shape.depth_N[node])
    path = [deep]
    while shape.parent_N[path[0]] >= 0:
        path.insert(0, shape.parent_N[path[0]])
    model.cache.commit(0, path)  # nodes from all over the tree
    model.cache.commit(1, [0])  # nothing but the root
    assert model.cache.lengths == [12 + len(path), 6]
    second_BND = model.verify(trees[1])
    model.cache.clear()
    return torch.cat([prefill_BTD[0], prefill_BTD[1, :5], first_BND.flatten(0, 1), second_BND.flatten(0, 1)])


@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["13 nodes", "85 nodes"])
@pytest.mark.parametrize("kind", LLAMAS)
def test_states_are_the_adapters(kind: str, shape: TreeShape) -> None:
    pretrained = LLAMAS[kind]()
    ours, theirs = native(pretrained), adapter(pretrained)
    hidden = two_rows(ours, shape)
    # transformers' norms round to float32 on the way; without them it would be 1e-15
    assert torch.allclose(hidden, two_rows(theirs, shape), rtol=0, atol=1e-4)
    assert torch.allclose(ours.lm_head(hidden), theirs.lm_head(hidden), rtol=0, atol=1e-9)
    ids = torch.tensor([0, 5, 63])
    assert torch.allclose(ours.projection(ids)(hidden), ours.lm_head(hidden)[:, ids], rtol=0, atol=1e-9)
    assert torch.equal(ours.embed(ids), theirs.embed(ids))


@pytest.mark.parametrize("kind", LLAMAS)
def test_greedy_is_generate(kind: str) -> None:
    pretrained = LLAMAS[kind]()
    prompts = [[5], [9, 8, 7, 6], [11] * 17]
    true = [generated(pretrained, prompt, 16) for prompt in prompts]
    known = {tuple(prompt): text for prompt, text in zip(prompts, true, strict=True)}
    engine = Engine(
        native(pretrained),
        {"none": PlainDrafter(), "scripted": ScriptedDrafter(known, SMALL, accuracy=0.7, vocab=VOCAB)},
        nodes=len(SMALL),
    )
    for drafter in ("none", "scripted"):
        assert texts(engine, [Request(prompt_ids=p, drafter=drafter, max_new_tokens=16) for p in prompts]) == true, drafter


def test_the_check_at_load_passes() -> None:
    check_tree_passes(native(tiny("llama")), tiny("llama"))


def test_facts() -> None:
    model = native(tiny("llama"), extra_eos_ids=(7,), max_context=50)
    facts = model.facts
    assert (facts.vocab_size, facts.hidden_size, facts.context_length, facts.eos_ids) == (VOCAB, 32, 50, (2, 7))
    assert (facts.implementation, facts.dtype) == ("native", torch.float64)


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("granite", {}),
        ("olmoe", {"clip_qkv": 3.0}),
        ("qwen3_moe", {"mlp_only_layers": [0]}),
        ("llama", {"hidden_act": "gelu"}),
        ("llama", {"sliding_window": 7}),
        ("gemma3_text", {"attn_logit_softcapping": 5.0}),
    ],
    ids=lambda value: value if isinstance(value, str) else ",".join(value) or "plain",
)
def test_anything_unusual_is_left_to_the_adapter(family: str, changes: dict[str, Any]) -> None:
    assert not covers(build(family, **changes))


def test_a_model_that_was_asked_for_its_states_is_still_covered() -> None:
    model = build("llama")
    model(input_ids=torch.tensor([[5, 6]]), output_hidden_states=True)  # transformers leaves its hooks on it
    assert any(module._forward_hooks for module in model.modules())
    assert covers(model)


def test_a_choice_of_experts_is_not_compiled() -> None:
    assert covers(tiny("mixtral"))
    assert not covers(tiny("mixtral"), compiled=True)


def test_a_plain_llama_is_covered() -> None:
    assert covers(tiny("llama"))
    mixed = build("llama")
    mixed.lm_head.to(torch.float32)
    assert not covers(mixed)  # one format throughout


def test_bfloat16_rows_do_not_depend_on_their_neighbours() -> None:
    # each product has at least two rows, and then oneDNN gives a row the same bits whatever stands beside it
    model: NativeModel = native(build("llama", dtype=torch.bfloat16))
    prompts_BT = torch.tensor([[5, 6, 7, 8], [9, 10, 11, 12], [3, 3, 3, 3]])
    states = []
    for rows in (2, 3):
        for _ in range(rows):
            model.cache.add_row(8)
        states.append(model.prefill(prompts_BT[:rows], 0, [4] * rows)[:2])
        model.cache.clear()
    assert torch.equal(states[0], states[1])
