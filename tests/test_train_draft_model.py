"""The script in ``examples/`` that distils a draft model, on a tiny base model."""

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from transformers import AutoModelForCausalLM

from headstart.completion import Completion
from headstart.llm import load
from headstart.train.shards import Answer, write_shard
from tests.tiny_models import VOCAB, build, letters_tokenizer, native

SCRIPT = Path(__file__).parent.parent / "examples" / "train_draft_model.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_draft_model", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base model of four layers, and 24 greedy answers of it with their hidden states."""
    directory = tmp_path_factory.mktemp("distilled")
    pretrained = build("llama", dtype=torch.float32, num_hidden_layers=4, tie_word_embeddings=True)
    pretrained.save_pretrained(directory / "base")
    letters_tokenizer().hf.save_pretrained(directory / "base")
    model, conversations = native(pretrained), []
    for start in range(24):
        model.cache.clear()
        row = model.cache.add_row(32)
        ids, states = [3 + start, 7], []
        hidden = model.prefill(torch.tensor([ids]), row, [2])[0, -1]
        for _ in range(12):
            states.append(hidden)
            ids.append(int(model.lm_head(hidden[None])[0].argmax()))
            hidden = model.prefill(torch.tensor([ids[-1:]]), row, [1])[0, -1]
        conversations.append([Answer(ids[:2], ids[2:], torch.stack(states[:-1]).clone(), True, "test")])
    write_shard(directory / "shard-00000.safetensors", 0, conversations, {})
    return directory


def run(script: ModuleType, place: Path, output: Path, *more: str) -> int:
    arguments = [str(place / "base"), "--shards", str(place), "--output", str(output), "--layers", "2", "--threads", "1", *more]
    status: int = script.main(arguments)
    return status


def test_a_draft_model_that_has_learnt(script: ModuleType, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "draft"
    assert run(script, place, output, "--steps", "60", "--lr", "0.02") == 0
    captured = capsys.readouterr()
    facts: dict[str, Any] = json.loads(captured.out)
    assert facts == json.loads((output / "training.json").read_text())
    assert (facts["layers"], facts["steps"], facts["answers"]) == (2, 60, 16)  # eight of 24 are kept aside
    losses = [float(line.split("loss ")[1].split(" nats")[0]) for line in captured.err.splitlines() if "loss" in line]
    assert losses[-1] < 3.0  # from above log(64) = 4.2
    base, draft = (AutoModelForCausalLM.from_pretrained(path).float() for path in (place / "base", output))
    assert torch.equal(base.model.embed_tokens.weight.bfloat16(), draft.model.embed_tokens.weight.bfloat16())
    assert not torch.equal(base.model.layers[3].mlp.up_proj.weight, draft.model.layers[1].mlp.up_proj.weight)
    llm = load(place / "base", draft_model=output, dtype="float32")
    out = llm.generate([5, 7], max_new_tokens=12)
    assert isinstance(out, Completion)
    plain = llm.generate([5, 7], max_new_tokens=12, drafter="none")
    assert isinstance(plain, Completion)
    assert out.token_ids == plain.token_ids
    assert out.stats.tokens_per_step > 1.0


def test_accuracy_by_hand(script: ModuleType, place: Path) -> None:
    """Teacher-forced hits of one answer, the first token aside: the chain breaks at each miss."""

    class Scripted(script.Distillation):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            self.head = script.OutputMatrix(torch.eye(VOCAB), None)

        def states(self, texts: Any) -> torch.Tensor:
            hits = [1, 1, 1, 0, 1, 1, 1, 1, 1, 1]  # after the first: two hits and a miss; four hits and one more; one hit
            rows = torch.zeros(10, VOCAB)
            for i, hit in enumerate(hits):
                rows[i, int(texts[0].labels_M[i]) if hit else VOCAB - 1] = 1.0
            return rows

    text = script.Text(torch.arange(12), 2, torch.zeros(9, 4), 0, True)
    found = Scripted().accuracy([text])
    assert (found.tokens, found.top_1, found.steps) == (10, 0.9, 3)
    assert found.chain == 3.0  # nine tokens in three steps: 3, 5 and 1


def test_mistakes(script: ModuleType, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(script, place, tmp_path) == 2
    assert "exists; choose another --output, or give --overwrite" in capsys.readouterr().err
    assert run(script, place, tmp_path / "new", "--layers", "9") == 2
    assert "layers is 9; expected 2 to 3, fewer than the model has" in capsys.readouterr().err
    assert script.main([str(place / "base"), "--shards", str(tmp_path), "--output", str(tmp_path / "new")]) == 2
    assert "there are no recorded answers in" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
