"""Heads of models that are not kept as they were saved: in fewer bits, or spread over devices."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM, LlamaForCausalLM

from headstart.errors import TrainingError
from headstart.models.weights_format import FORMATS
from headstart.text.tokenizer import Tokenizer
from headstart.train.options import TrainOptions
from headstart.train.output_matrix import shared_matrix
from headstart.train.plan import read_plan
from headstart.train.run import train
from tests.tiny_models import build, native
from tests.train.small_run import fresh

OPTIONS = TrainOptions(
    tokens=600, max_new_tokens=24, max_rows=8, num_heads=2, draft_vocab_size=200, batch=64, lr=5e-3, epochs=2, quiet=True
)
NAMES = [name for name, form in FORMATS.items() if name is not None and form.fault() is None]


@pytest.mark.skipif(not NAMES, reason="no products in fewer bits here")
@pytest.mark.parametrize("weights", NAMES)
def test_weights_in_fewer_bits(weights: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """The heads' projection is the rounded LM head, as it is when they draft; a resumed run has to have the same weights."""
    wide = build("llama", dtype=torch.float32, vocab_size=260, hidden_size=64, intermediate_size=96)  # 4 bits want multiples of 32
    model = native(wide, cache_tokens=8 * 1024, weights=weights)
    matrix = shared_matrix(model, None, torch.float32)
    states_RD = torch.randn(5, 64, generator=torch.Generator().manual_seed(0))
    expected_RV = model.projection(None)(states_RD).float()
    assert float((matrix.logits(states_RD) - expected_RV).norm() / expected_RV.norm()) < 0.02  # activations are rounded to 8 bits
    train(model, tokenizer, tmp_path / "out", options=OPTIONS)
    assert read_plan(tmp_path / "out" / "run" / "run.json").options["weights"] == weights
    with pytest.raises(TrainingError, match=f"weights='{weights}', not None"):
        train(fresh(wide), tokenizer, tmp_path / "out", options=replace(OPTIONS, resume=True))


def test_layers_on_the_disk(llama: LlamaForCausalLM, tokenizer: Tokenizer, tmp_path: Path) -> None:
    """accelerate brings each of them into memory when it is its turn. The heads are those of the model in one piece."""
    pytest.importorskip("accelerate")
    llama.save_pretrained(tmp_path / "model")
    places = {
        "model.embed_tokens": "cpu",
        "model.layers.0": "cpu",
        "model.norm": "cpu",
        "model.rotary_emb": "cpu",
        "lm_head": "cpu",
    }
    places |= {f"model.layers.{number}": "disk" for number in range(1, llama.config.num_hidden_layers)}
    spread = AutoModelForCausalLM.from_pretrained(
        tmp_path / "model", device_map=places, offload_folder=tmp_path / "offload", dtype=llama.dtype
    )
    assert {parameter.device.type for parameter in spread.model.layers[1].parameters()} == {"meta"}
    for name, model in (("one", llama), ("other", spread)):
        train(fresh(model), tokenizer, tmp_path / name, options=OPTIONS)
    one, other = (load_file(tmp_path / name / "heads.safetensors") for name in ("one", "other"))
    assert one.keys() == other.keys()
    assert all(torch.equal(one[name], other[name]) for name in one)
