"""Draft models by name: through ``load`` and the command line, and what is refused."""

import json
from pathlib import Path

import pytest
import torch
from transformers import LlamaForCausalLM, PreTrainedModel

from headstart.cli.main import main
from headstart.completion import Completion
from headstart.drafters.draft_options import DraftOptions
from headstart.errors import DraftModelError, InvalidParameterError, ModelNotFoundError
from headstart.llm import load
from tests.drafters.test_shared_text import backwards_pretrained, backwards_tokenizer
from tests.tiny_models import alphabet_heads, alphabet_model, letters_tokenizer, native


def saved(directory: Path, model: PreTrainedModel, *, backwards: bool = False) -> str:
    model.save_pretrained(directory)
    (backwards_tokenizer() if backwards else letters_tokenizer().hf).save_pretrained(directory)
    return str(directory)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("base"), alphabet_model())


@pytest.fixture(scope="module")
def draft(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("draft"), alphabet_model(sharpness=0.9))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> str:
    return saved(tmp_path_factory.mktemp("stranger"), backwards_pretrained(), backwards=True)


def test_its_trees_have_eight_nodes_whatever_heads_recommend(base: str, draft: str, tmp_path: Path) -> None:
    alphabet_heads(native(alphabet_model())).save_pretrained(tmp_path / "heads")  # four
    llm = load(base, heads=tmp_path / "heads", draft_model=draft, dtype="float32")
    sizes = [llm.engine.budget(drafter, timed=timed).sizes for drafter in ("draft-model", "medusa") for timed in (True, False)]
    assert sizes == [(8,), (8,), (4,), (4,)]
    assert load(base, draft_model=draft, nodes=3, dtype="float32").engine.budget("draft-model").sizes == (3,)


def test_a_draft_model_that_is_named_drafts(base: str, draft: str) -> None:
    """Eight nodes, eight letters a step: a guess is right with 95 %, and seven of them with 70 %."""
    llm = load(base, draft_model=draft, dtype="float32")
    assert llm.drafter == "draft-model"
    out = llm.generate("ab", max_new_tokens=17)
    assert isinstance(out, Completion)
    assert (out.text, out.stats.steps) == ("cdefghijklmnopqrs", 2)
    plain = llm.generate("ab", max_new_tokens=17, drafter="none")
    assert isinstance(plain, Completion)
    assert plain.token_ids == out.token_ids


def test_with_options_and_a_loaded_model(base: str) -> None:
    given: LlamaForCausalLM = alphabet_model(sharpness=0.9).float()
    llm = load(base, draft_model=DraftOptions(model=given, confidence=0.99, branches=1), dtype="float32")
    out = llm.generate("ab", max_new_tokens=5)
    assert isinstance(out, Completion)
    assert (out.text, out.stats.steps, out.stats.accepted_per_depth) == ("cdefg", 2, [2])  # one guess a step


def test_the_command_line(base: str, draft: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["generate", base, "ab", "--draft-model", draft, "--max-new-tokens", "17", "--dtype", "float32", "--json"]
    assert main(arguments) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["text"], record["stats"]["steps"]) == ("cdefghijklmnopqrs", 2)
    assert main(["generate", base, "ab", "--draft-text"]) == 2
    assert "--draft-text was given without a draft model" in capsys.readouterr().err


def test_another_tokenizer(base: str, stranger: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DraftModelError, match=r"\(64 tokens of .* against 64 of .*\): id 3 is 'a' to .* and is '\\n' to"):
        load(base, draft_model=stranger, dtype="float32")
    arguments = ["generate", base, "ab", "--draft-model", stranger, "--max-new-tokens", "17", "--dtype", "float32", "--json"]
    assert main(arguments) == 2
    capsys.readouterr()
    assert main([*arguments, "--draft-text"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["text"], record["stats"]["steps"]) == ("cdefghijklmnopqrs", 2)


def test_mistakes(base: str, draft: str, tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"there is no model at .*/nowhere"):
        load(base, draft_model=str(tmp_path / "nowhere"), dtype="float32")
    with pytest.raises(DraftModelError, match="has a context of 8 positions; expected at least 16 to draft in"):
        load(base, draft_model=alphabet_model(context=8), dtype="float32")
    with pytest.raises(DraftModelError, match=r"needs two tokenizers, and .* came without one"):
        load(base, draft_model=DraftOptions(model=alphabet_model(), text=True), dtype="float32")
    with pytest.raises(InvalidParameterError, match=r"confidence is 1.5; expected a chance, 0 to 1"):
        DraftOptions(model=draft, confidence=1.5)
    with pytest.raises(InvalidParameterError, match="branches are 0; expected at least 1"):
        DraftOptions(model=draft, branches=0)
    with pytest.raises(InvalidParameterError, match=r"'draft-model' is not available.*name one with draft_model="):
        load(base, drafter="draft-model", dtype="float32")


def test_models_in_memory_have_no_tokenizers_to_compare() -> None:
    base_model, other = alphabet_model(), alphabet_model(sharpness=0.9)
    llm = load(base_model, draft_model=other)
    assert llm.drafter == "draft-model"
    out = llm.generate([5, 6], max_new_tokens=9)
    assert isinstance(out, Completion)
    assert (list(out.token_ids), out.stats.steps) == (list(range(7, 16)), 1)
    assert llm.model.facts.dtype == torch.float64
