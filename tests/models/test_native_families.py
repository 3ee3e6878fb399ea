"""Every covered family computes what transformers computes and writes what its ``generate`` writes.

All on tiny random models in float64, where two ways to compute the same number differ by about 1e-15; ``1e-9`` leaves room
for the float32 that transformers uses inside norms and a wrong mask, position or norm is off by more than 0.01.
"""

from functools import cache
from typing import Any

import pytest
import torch
from transformers import PreTrainedModel

from headstart.drafters.plain import PlainDrafter
from headstart.engine import engine as engine_module
from headstart.engine.engine import Engine
from headstart.models.native import covers
from headstart.models.native_norm import RMSNorm
from headstart.models.self_check import check_tree_passes
from headstart.request import Request
from headstart.trees.shape import TreeShape
from tests.decoding import ScriptedDrafter, texts
from tests.models.test_native import two_rows
from tests.tiny_models import VOCAB, WINDOW, adapter, build, generated, native

_THETA = 10000.0
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama 2": ("llama", {}),
    "llama 3": ("llama", {"rope_parameters": {
        "rope_type": "llama3", "factor": 4.0, "rope_theta": _THETA, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 16,
    }}),
    "linear rotary": ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": _THETA}}),
    "yarn": ("llama", {"rope_parameters": {
        "rope_type": "yarn", "factor": 8.0, "rope_theta": _THETA, "original_max_position_embeddings": 16,
    }}),
    "dynamic rotary": ("llama", {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": _THETA}}),
    "biases": ("llama", {"attention_bias": True, "mlp_bias": True}),
    "mistral": ("mistral", {}),
    "mistral without window": ("mistral", {"sliding_window": None}),
    "qwen2": ("qwen2", {}),
    "qwen2 with windows": ("qwen2", {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1}),
    "qwen3": ("qwen3", {}),
    "gemma 2": ("gemma2", {}),
    "gemma 3": ("gemma3_text", {"rope_parameters": {
        "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    }}),
    "phi-3": ("phi3", {}),
    "phi-3 with window and partial rotary": ("phi3", {"sliding_window": WINDOW, "partial_rotary_factor": 0.5}),
    "olmo 2": ("olmo2", {}),
    "mixtral": ("mixtral", {}),
    "mixtral with a window": ("mixtral", {"sliding_window": WINDOW, "num_experts_per_tok": 3}),
    "qwen3 experts": ("qwen3_moe", {"norm_topk_prob": True}),
    "olmoe": ("olmoe", {"norm_topk_prob": False}),
}  # fmt: skip
TREE = TreeShape.full([3, 2, 2])
PROMPTS = [[5], [9, 8, 7, 6], [11, 40, 3] * 6]  # from shorter than the window to longer
NEW = 12


@cache
def model(case: str) -> PreTrainedModel:
    family, changes = CASES[case]
    pretrained = build(family, **changes)
    torch.manual_seed(5)
    with torch.no_grad():
        for name, parameter in pretrained.named_parameters():
            if parameter.dim() == 1:  # norms and biases, which start as ones and zeros and would hide a mistake
                parameter.add_(torch.randn_like(parameter) * (0.3 if "norm" in name else 0.5))
    return pretrained


@pytest.mark.parametrize("case", CASES)
def test_logits_are_transformers(case: str) -> None:
    pretrained = model(case)
    assert covers(pretrained)
    ours, theirs = native(pretrained), adapter(pretrained)
    hidden = two_rows(ours, TREE)  # a batch of two lengths, and trees after a tree that was partly accepted
    expected = theirs.lm_head(two_rows(theirs, TREE))
    assert torch.allclose(ours.lm_head(hidden), expected, rtol=0, atol=1e-9)
    ids_BT = torch.randint(3, VOCAB, (1, 30))
    ours.cache.add_row(40)
    alone = ours.lm_head(ours.prefill(ids_BT, 0, [30]))
    with torch.no_grad():
        directly = pretrained(input_ids=ids_BT, use_cache=False).logits
    assert torch.allclose(alone, directly, rtol=0, atol=1e-4)  # its eager attention has a float32 softmax
    assert float(directly.std()) > 0.5


@pytest.mark.parametrize("case", CASES)
def test_greedy_is_generate(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pretrained = model(case)
    true = [generated(pretrained, prompt, NEW) for prompt in PROMPTS]
    known = {tuple(prompt): text for prompt, text in zip(PROMPTS, true, strict=True)}
    drafters = {"none": PlainDrafter(), "scripted": ScriptedDrafter(known, TREE, accuracy=0.7, vocab=VOCAB)}
    engine = Engine(native(pretrained), drafters, nodes=len(TREE))
    for drafter in drafters:
        assert texts(engine, [Request(prompt_ids=p, drafter=drafter, max_new_tokens=NEW) for p in PROMPTS]) == true, drafter
    monkeypatch.setattr(engine_module, "PREFILL_TOKENS", 8)  # prompts in chunks
    assert texts(engine, [Request(prompt_ids=p, drafter="scripted", max_new_tokens=NEW) for p in PROMPTS]) == true


@pytest.mark.parametrize("case", CASES)
def test_float32_agrees_within_rounding(case: str) -> None:
    family, changes = CASES[case]
    pretrained = build(family, dtype=torch.float32, **changes)
    ours, theirs = native(pretrained), adapter(pretrained)
    difference = ours.lm_head(two_rows(ours, TREE)) - theirs.lm_head(two_rows(theirs, TREE))
    assert float(difference.abs().max()) < 1e-3  # logits are of the order of 2, and a mistake changes them by that much
    check_tree_passes(native(pretrained), pretrained)


@pytest.mark.parametrize("plus_one", [False, True])
def test_norms_round_once(plus_one: bool) -> None:
    # the closed form in float64, rounded to bfloat16 at the end: at most one step of 2**-8 away
    torch.manual_seed(0)
    x = (torch.randn(3, 64) * torch.tensor([[1e-3], [1.0], [1e3]])).bfloat16()
    weight = torch.randn(64).bfloat16()
    norm = RMSNorm(weight, 1e-5, plus_one=plus_one)
    exact = x.double() / (x.double().pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() * (weight.double() + plus_one)
    assert torch.allclose(norm(x).double(), exact, rtol=2**-8, atol=0)


def test_a_changed_layer_is_left_to_the_adapter() -> None:
    pretrained = build("llama")
    pretrained.model.layers[1].self_attn.register_parameter("gate", torch.nn.Parameter(torch.ones(1, dtype=torch.float64)))
    assert not covers(pretrained)  # a parameter whose meaning is not known
    hooked = build("llama")
    hooked.model.layers[0].mlp.register_forward_hook(lambda *_: None)
    assert not covers(hooked)
    replaced = build("llama")

    class Doubled(torch.nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return 2 * super().forward(x)

    replaced.lm_head = Doubled(32, VOCAB, bias=False, dtype=torch.float64)
    assert not covers(replaced)
