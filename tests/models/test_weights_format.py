"""The native decoder with 8- and 4-bit weights: equal bits, what it says of itself, what it refuses, what it holds in memory."""

import gc
import random
import weakref
from pathlib import Path
from typing import Any

import pytest
import torch

import headstart
from headstart.drafters.plain import PlainDrafter
from headstart.engine.engine import Engine
from headstart.errors import InvalidParameterError, UnsupportedModelError
from headstart.models import weights_format
from headstart.models.bitwise_probe import fitting_span
from headstart.models.bitwise_proof import unequal_rows
from headstart.models.conditions import Conditions
from headstart.models.int8_linear import Int8Linear
from headstart.models.loading import load_model
from headstart.models.native import NativeModel
from headstart.models.weights_format import FORMATS, WeightsFormat
from headstart.request import Request
from headstart.trees.shape import TreeShape
from tests.decoding import ScriptedDrafter, decode, texts
from tests.tiny_models import VOCAB, build, native, tiny

NAMES = [name for name, form in FORMATS.items() if name is not None and form.fault() is None]
needs_kernels = pytest.mark.skipif(fitting_span() is None, reason="this processor's bfloat16 products do not keep their bits")
needs_int8 = pytest.mark.skipif("int8" not in NAMES, reason="no 8-bit products here")
needs_int4 = pytest.mark.skipif("int4" not in NAMES, reason="no 4-bit products here")
WIDE: dict[str, Any] = {"hidden_size": 64, "intermediate_size": 96}  # 4 bits want multiples of 32 columns


def prompts(*lengths: int) -> list[list[int]]:
    draw = random.Random(3)
    return [[draw.randrange(VOCAB) for _ in range(length)] for length in lengths]


@needs_kernels
@pytest.mark.parametrize("family", ["llama", "qwen2", "gemma2"])
@pytest.mark.parametrize("weights", NAMES)
def test_bits_are_those_of_plain_decoding(weights: str, family: str) -> None:
    model = native(build(family, dtype=torch.bfloat16, **WIDE), bitwise=True, weights=weights)
    rows, unequal = unequal_rows(model, prompts(1, 14, 30), 16, seed=1)
    assert (rows, unequal) == (2 * (3 * 15 + 3), 0)  # 15 verified tokens and a chunked prefill of 3 prompts, alone and together


@pytest.mark.parametrize("weights", NAMES)
def test_guesses_change_nothing(weights: str) -> None:
    model = native(build("llama", dtype=torch.float32, **WIDE), weights=weights)
    three, tree = prompts(3, 14, 31), TreeShape.full([3, 2])
    plain = texts(Engine(model, {"none": PlainDrafter()}), [Request(prompt_ids=p, max_new_tokens=16) for p in three])
    known = {tuple(p): t for p, t in zip(three, plain, strict=True)}
    engine = Engine(model, {"scripted": ScriptedDrafter(known, tree, accuracy=0.7, vocab=VOCAB)}, nodes=len(tree))
    assert texts(engine, [Request(prompt_ids=p, max_new_tokens=16, drafter="scripted") for p in three]) == plain


@pytest.mark.parametrize("weights", NAMES)
def test_logits_are_near_the_models_own(weights: str) -> None:
    pretrained = build("llama", dtype=torch.float32, **WIDE)
    logits = []
    for name in (None, weights):
        model = native(pretrained, weights=name)
        model.cache.add_row(32)
        logits.append(model.lm_head(model.prefill(torch.tensor(prompts(32)), 0, [32])))
    off = float((logits[1] - logits[0]).norm() / logits[0].norm())
    # 8 products in a row of 1.1 (8 bits) or 8 (4 bits) per cent each add up to 3 or 22; sharp random attention doubles that
    low, high = {"int8": (0.02, 0.12), "int4": (0.15, 0.7)}[weights]
    assert low < off < high


@needs_kernels
@pytest.mark.bundled
@pytest.mark.parametrize("weights", NAMES)
def test_bundled_model(weights: str) -> None:
    model, tokenizer = load_model("bundled", dtype="bfloat16", device="cpu", weights=weights)
    assert tokenizer is not None
    questions = ["How do I reset my password?", "Summarise in one sentence: " + "The river rose again in the night. " * 6]
    assert unequal_rows(model, [tokenizer(text)["input_ids"] for text in questions], 8, seed=4)[1] == 0


@needs_int8
def test_a_part_of_the_head_is_the_whole_ones_columns() -> None:
    model, ids = native(tiny("llama"), weights="int8"), torch.tensor([3, 9, 60])
    hidden = torch.randn(5, 32, dtype=torch.float64)
    # columns are shared out between input and weights by the largest weight of those that are there, so not to the bit
    assert torch.allclose(model.projection(ids)(hidden), model.lm_head(hidden)[:, ids], atol=0.3)


@needs_int8
def test_bytes() -> None:
    pretrained = build("llama", dtype=torch.bfloat16)
    plain, rounded = native(pretrained), native(pretrained, weights="int8")
    rows = 2 * ((4 + 2 * 2) * 8 + 32 + 2 * 48 + 32) + VOCAB
    matrices = 2 * ((4 + 2 * 2) * 8 * 32 + 32 * 32 + 2 * 48 * 32 + 32 * 48) + VOCAB * 32
    assert plain.product_bytes == 2 * matrices
    assert rounded.product_bytes == matrices + 12 * rows
    # embeddings and the LM head for drafters stay in bfloat16
    assert rounded.weight_bytes == rounded.product_bytes + 2 * 2 * VOCAB * 32
    # nothing is packed in float64: the matrices are the tensors themselves, and a tied head is the embeddings
    double = native(build("llama"))
    assert double.weight_bytes == 8 * (matrices + VOCAB * 32)
    assert native(build("llama", tie_word_embeddings=True)).weight_bytes == 8 * matrices


def saved(model: Any, path: Path) -> str:
    model.save_pretrained(path)
    return str(path)


@pytest.mark.parametrize("weights", [None, *NAMES])
def test_the_transformers_model_is_let_go_of(weights: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headstart.models import loading

    kept: list[weakref.ref[Any]] = []
    load = loading.load_pretrained

    def noting(*args: Any) -> Any:
        loaded = load(*args)
        kept.extend([weakref.ref(loaded[0]), weakref.ref(loaded[0].model.layers[0].mlp.down_proj.weight)])
        return loaded

    monkeypatch.setattr(loading, "load_pretrained", noting)
    model, _ = load_model(
        saved(build("llama", dtype=torch.bfloat16, **WIDE), tmp_path), dtype="bfloat16", device="cpu", weights=weights
    )
    gc.collect()
    assert isinstance(model, NativeModel)
    assert [reference() for reference in kept] == [None, None]


@needs_int8
def test_it_is_never_silent(tmp_path: Path) -> None:
    model, _ = load_model(saved(build("llama", dtype=torch.bfloat16), tmp_path), device="cpu", weights="int8")
    assert isinstance(model, NativeModel)
    assert (model.weights, model.facts.implementation, model.facts.dtype) == ("int8", "native", torch.bfloat16)
    assert native(tiny("llama")).weights is None
    assert Conditions.of(model).weights == "int8"
    (text,) = decode(Engine(model, {"none": PlainDrafter()}), [Request(prompt_ids=[5, 6], max_new_tokens=2)])
    assert text.stats.weights == "int8"  # it is another text than the model's own, and says so


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidParameterError, match="weights is 'int3'; expected one of 'int8', 'int4', or None"):
        headstart.load("nowhere", weights="int3")


def test_processors_without_the_kernels_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(weights_format.FORMATS, "int8", WeightsFormat("int8", Int8Linear, Int8Linear, lambda: "the moon is full"))
    with pytest.raises(InvalidParameterError, match=r"weights='int8' does not work here: the moon is full\. Leave weights out"):
        headstart.load("nowhere", weights="int8")


@needs_int8
def test_models_that_the_native_decoder_does_not_run_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModelError, match="native decoder, and it does not cover this model; leave weights out"):
        load_model(saved(build("granite", dtype=torch.float32), tmp_path), weights="int8", device="cpu")
    with pytest.raises(InvalidParameterError, match="given loaded is used as it is; give its path or hub id instead"):
        load_model(build("llama", dtype=torch.float32), weights="int8")


@needs_int8
def test_rounded_and_compiled_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameterError, match="cannot be compiled; leave out either weights or compile"):
        load_model(saved(build("llama", dtype=torch.float32), tmp_path), weights="int8", device="cpu", compile=True)
