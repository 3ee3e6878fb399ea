"""Passes of fixed shapes compute what the native decoder computes, compiled or not, and are compiled once.

No CUDA is needed: what is tested is the numbers, the shapes and the number of compilations. The backend "aot_eager" traces and
guards as inductor does and generates no code.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from headstart import load
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.errors import CapacityError
from headstart.models import compiled as compiling
from headstart.models.compiled import TREE_SLOTS, CompiledModel
from headstart.models.loading import load_model
from headstart.models.native import NativeModel
from headstart.request import Request
from headstart.trees.candidate import CandidateTree
from headstart.trees.shape import TreeShape
from tests.decoding import ScriptedDrafter, decode, texts
from tests.models.test_native import two_rows
from tests.tiny_models import VOCAB, build, generated, native

TREE = TreeShape.full([2, 2, 1])  # 11 nodes, filled up to 16
CONTEXT = 600  # stretches of 256, 512 and, with room for trees at its end, 856 slots
WHOLE = CONTEXT + TREE_SLOTS


def compiled(family: str = "llama", backend: Any = None, **options: Any) -> CompiledModel:
    pretrained = build(family, max_position_embeddings=CONTEXT)
    return CompiledModel(native(pretrained), **{"max_rows": 4, "cache_tokens": 4 * WHOLE, "backend": backend, **options})


@pytest.fixture(autouse=True)
def _no_compiled_code_of_other_tests() -> None:
    torch._dynamo.reset()


@pytest.mark.parametrize(
    "family", ["llama", "mistral", "qwen2", "qwen3", "gemma2", "gemma3_text", "phi3", "olmo2"]
)  # windows and soft-caps among them
def test_states_are_the_native_decoders(family: str) -> None:
    pretrained = build(family, max_position_embeddings=CONTEXT)
    ours = two_rows(compiled(family), TREE)
    # float64: another order of summation, the same sums
    assert torch.allclose(ours, two_rows(native(pretrained), TREE), rtol=0, atol=1e-9)


@pytest.mark.parametrize("family", ["llama", pytest.param("gemma2", marks=pytest.mark.slow)])
def test_growing_contexts_are_not_compiled_again(family: str) -> None:
    prompts = [[5], [9, 8, 7, 6], [11, 12] * 110]  # 220 to 280 and 1 to 61: over the first stretch's end
    pretrained = build(family, max_position_embeddings=CONTEXT)
    true = [generated(pretrained, prompt, 60) for prompt in prompts]
    model = compiled(family, "aot_eager")
    model.warm(rows=(1, 3), nodes=(1, len(TREE)))
    known = {tuple(prompt): text for prompt, text in zip(prompts, true, strict=True)}
    drafters = {"none": PlainDrafter(), "scripted": ScriptedDrafter(known, TREE, accuracy=0.7, vocab=VOCAB)}
    engine = Engine(model, drafters, nodes=len(TREE))
    with torch._dynamo.config.patch(error_on_recompile=True):
        for drafter in drafters:
            requests = [Request(prompt_ids=prompt, drafter=drafter, max_new_tokens=60) for prompt in prompts]
            assert texts(engine, requests[2:]) == true[2:]
            assert texts(engine, requests) == true  # two rows and three, both as four
    assert model.compiled


def test_trees_take_a_graph_that_is_there() -> None:
    model = compiled(backend="aot_eager")
    model.warm(rows=(1, 2), nodes=(1, 16))
    prompts_BT = torch.tensor([[5, 6, 7], [7, 6, 5]])
    for rows in (1, 2):
        model.cache.clear()
        for _ in range(rows):
            model.cache.add_row(100)
        model.prefill(prompts_BT[:rows], 0, [3] * rows)
        with torch._dynamo.config.patch(error_on_recompile=True):
            for nodes in (2, 3, 9, 16):  # as 16, though 2 would be the next power of two
                tree = CandidateTree.of_shape(TreeShape.chain(nodes - 1), torch.full((rows, nodes), 8))
                assert model.verify(tree).shape == (rows, nodes, 32)
    assert model.compiled


@pytest.mark.slow
def test_inductors_code_writes_the_same() -> None:
    prompt = [11, 12] * 120
    model = compiled(backend="inductor")
    model.warm(nodes=(len(TREE),))
    true = generated(build("llama", max_position_embeddings=CONTEXT), prompt, 40)
    scripted = ScriptedDrafter({tuple(prompt): true}, TREE, accuracy=0.7, vocab=VOCAB)
    engine = Engine(model, {"none": PlainDrafter(), "scripted": scripted}, nodes=len(TREE))
    with torch._dynamo.config.patch(error_on_recompile=True):
        assert texts(engine, [Request(prompt_ids=prompt, drafter="scripted", max_new_tokens=40)]) == [true]
    assert model.compiled


def test_a_failing_compiler_is_reported_and_done_without(caplog: pytest.LogCaptureFixture) -> None:
    def broken(graph: torch.fx.GraphModule, inputs: Sequence[torch.Tensor]) -> Any:
        raise RuntimeError("no compiler here")

    model = compiled(backend=broken)
    model.warm()
    assert not model.compiled
    assert "runs uncompiled" in caplog.text
    assert "no compiler here" in caplog.text
    true = generated(build("llama", max_position_embeddings=CONTEXT), [5, 6], 12)
    assert texts(Engine(model, {"none": PlainDrafter()}), [Request(prompt_ids=[5, 6], max_new_tokens=12)]) == [true]


def test_the_cache_is_taken_at_once_and_stays() -> None:
    model = compiled(cache_tokens=3 * WHOLE)
    assert model.cache.max_rows == 3  # as many whole contexts, each with a tree at its end, as go into it
    places = [stored.data_ptr() for stored in model.cache.stacked()]
    for _ in range(3):
        model.cache.add_row(CONTEXT)
    assert [stored.data_ptr() for stored in model.cache.stacked()] == places
    with pytest.raises(CapacityError, match="max_rows=3"):
        model.cache.add_row(1)
    assert not model.cache.fits(1, WHOLE + 1)


@pytest.mark.parametrize("tokens", [None, 20, 300])
def test_a_text_goes_on_to_the_end_of_the_context(tokens: int | None) -> None:
    """20 tokens are left. The last trees have nodes in slots behind the context's end."""
    prompt = [11, 12] * 290
    true = generated(build("llama", max_position_embeddings=CONTEXT), prompt, 20)
    scripted = ScriptedDrafter({tuple(prompt): true}, TREE, accuracy=0.7, vocab=VOCAB)
    engine = Engine(compiled(), {"none": PlainDrafter(), "scripted": scripted}, nodes=len(TREE))
    (outcome,) = decode(engine, [Request(prompt_ids=prompt, drafter="scripted", max_new_tokens=tokens)])
    assert (outcome.ids, outcome.finish) == (true, "length")


def test_padding_at_the_end_of_the_slots_writes_over_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "TREE_SLOTS", 0)
    # row 0 has 2 slots left and a tree of 2 nodes, row 1 has 11 nodes, so that row 0 is filled up beyond the context
    torch.manual_seed(0)
    prompts_BT = torch.randint(3, VOCAB, (2, CONTEXT - 2))
    big = CandidateTree.of_shape(TREE, torch.randint(3, VOCAB, (1, len(TREE))))
    small = CandidateTree.of_shape(TreeShape.chain(1), torch.tensor([[8, 9]]))
    joined = CandidateTree.assembled(2, [([0], small), ([1], big)], torch.device("cpu"))
    states = []
    for model in (compiled(cache_tokens=4 * CONTEXT), native(build("llama", max_position_embeddings=CONTEXT))):
        for _ in range(2):
            model.cache.add_row(CONTEXT)
        model.prefill(prompts_BT, 0, [CONTEXT - 2, 50])
        first = model.verify(joined)
        model.cache.commit(0, [0])
        model.cache.commit(1, [0, 2])
        second = model.verify(CandidateTree.roots_only(torch.tensor([9, 10])))
        states.append(torch.cat([first[0, :2], first[1], second[:, 0]]))
    assert torch.allclose(*states, rtol=0, atol=1e-9)


def test_a_pass_waits_for_nothing() -> None:
    model = compiled()
    model.cache.add_row(50)
    model.prefill(torch.tensor([[5, 6, 7]]), 0, [3])
    tree = CandidateTree.of_shape(TREE, torch.full((1, len(TREE)), 8))
    waits: list[str] = []

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            # what a device has to be waited for: numbers read by the host, and shapes that depend on them
            if any(name in str(func) for name in ("_local_scalar_dense", "nonzero", "masked_select", "unique")):
                waits.append(str(func))
            return func(*args, **(kwargs or {}))

    with torch.inference_mode(), Watch():
        model.verify(tree)
    assert waits == []


@pytest.mark.parametrize(
    ("options", "sizes"),
    [({"drafter": "none"}, {1}), ({"drafter": "ngram"}, {1, 12}), ({"drafter": "ngram", "nodes": 6}, {1, 6})],
)
def test_load_compiles_what_the_drafter_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], sizes: set[int]
) -> None:
    asked: list[set[int]] = []
    monkeypatch.setattr(CompiledModel, "warm", lambda self, rows=(1,), nodes=(): asked.append(set(nodes)))
    build("llama", dtype=torch.float32).save_pretrained(tmp_path)
    load(tmp_path, heads=None, compile=True, device="cpu", dtype="float32", **options)
    assert asked == [sizes]


def test_matrices_of_a_published_model_can_be_traced(tmp_path: Path) -> None:
    """Loaded in float32 it would be multiplied by an operator that no compiler can see into."""
    build("llama", dtype=torch.bfloat16).save_pretrained(tmp_path)
    model = load_model(tmp_path, compile=True, device="cpu", dtype="float32")[0]
    assert isinstance(model, CompiledModel)
    model._backend = "aot_eager"
    model.warm(nodes=(1,))
    assert model.compiled
    assert model.compiles


def test_which_decoder_is_loaded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    build("llama", dtype=torch.float32).save_pretrained(tmp_path / "llama")
    build("granite", dtype=torch.float32).save_pretrained(tmp_path / "granite")
    options: dict[str, Any] = {"dtype": "float32", "device": "cpu"}
    assert isinstance(load_model(tmp_path / "llama", **options)[0], NativeModel)  # "auto" compiles on CUDA alone
    model = load_model(tmp_path / "llama", compile=True, **options)[0]
    assert isinstance(model, CompiledModel)
    assert not model.compiled  # not before it is warmed
    assert model.cache.max_rows == 8
    more = load_model(tmp_path / "llama", compile=True, max_rows=11, **options)[0]
    assert more.cache.max_rows == 11  # as asked for
    assert load_model(tmp_path / "granite", compile=True, **options)[0].facts.implementation == "transformers"
    assert "compile=True is for the native decoder" in caplog.text
