"""Every way to name a model, and what is said when there is none or it is broken."""

import json
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer as Backend
from tokenizers import models
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from headstart.errors import InvalidParameterError, ModelNotFoundError, UnsupportedModelError
from headstart.models import bundled
from headstart.models.source import find, load_pretrained


def tiny_llama() -> LlamaForCausalLM:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=32, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=1
    )  # fmt: skip
    return LlamaForCausalLM(config)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """A saved model with a tokenizer of two words."""
    path = tmp_path / "tiny-llama"
    tiny_llama().save_pretrained(path)
    backend = Backend(models.WordLevel({"[UNK]": 0, "hello": 1}, unk_token="[UNK]"))
    PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]").save_pretrained(path)
    return path


def edit_config(directory: Path, **changes: object) -> None:
    path = directory / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_a_directory(directory: Path) -> None:
    source = find(directory)
    assert (source.kind, source.name, source.path) == ("directory", str(directory), directory)
    model, tokenizer, name = load_pretrained(source, "float32", "cpu")
    assert (name, model.dtype, model.training) == (str(directory), torch.float32, False)
    assert torch.equal(model.lm_head.weight, tiny_llama().lm_head.weight)
    assert tokenizer is not None
    assert tokenizer.encode("hello") == [1]


def test_dtype_by_name(directory: Path) -> None:
    assert load_pretrained(find(str(directory)), "bfloat16", "cpu")[0].dtype == torch.bfloat16
    assert load_pretrained(find(str(directory)), torch.float64, "cpu")[0].dtype == torch.float64


def test_a_directory_without_a_tokenizer(tmp_path: Path) -> None:
    tiny_llama().save_pretrained(tmp_path)
    assert load_pretrained(find(tmp_path), "float32", "cpu")[1] is None


def test_a_broken_tokenizer_is_told(directory: Path) -> None:
    (directory / "tokenizer.json").write_text("{")
    with pytest.raises(ModelNotFoundError, match=r"the tokenizer in .* cannot be loaded"):
        load_pretrained(find(directory), "float32", "cpu")


def test_a_loaded_model_is_used_as_it_is() -> None:
    given = tiny_llama().double()
    source = find(given)
    model, tokenizer, name = load_pretrained(source)
    assert model is given
    assert model.dtype == torch.float64
    assert (source.kind, tokenizer, name) == ("object", None, "LlamaForCausalLM")
    with pytest.raises(InvalidParameterError, match=r"dtype=float32 .* given loaded, in torch\.float64"):
        load_pretrained(source, "float32")


def test_the_tokenizer_of_a_loaded_model_is_found(directory: Path) -> None:
    model = LlamaForCausalLM.from_pretrained(directory)
    tokenizer = load_pretrained(find(model))[1]
    assert tokenizer is not None
    assert tokenizer.encode("hello") == [1]


def test_a_path_that_does_not_exist(directory: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no model at .*tiny-lama.*beside it: tiny-llama.*expected \"bundled\""):
        find(str(directory.parent / "tiny-lama"))
    with pytest.raises(ModelNotFoundError, match=r"the directory /no/such does not exist"):
        find("/no/such/model")
    with pytest.raises(ModelNotFoundError, match=r"no model at 'model\.gguf'"):
        find("model.gguf")
    with pytest.raises(ModelNotFoundError, match="of type int"):
        find(7)  # type: ignore[arg-type]


def test_a_hub_id_offline() -> None:
    """The tests run with HF_HUB_OFFLINE set, and nothing of that name is in the cache."""
    source = find("nobody/nothing-of-this-name")
    assert (source.kind, source.path) == ("hub", None)
    with pytest.raises(ModelNotFoundError, match=r"hub cannot be reached.*HF_HUB_OFFLINE"):
        load_pretrained(source)


def test_directories_that_hold_no_model(tmp_path: Path) -> None:
    with pytest.raises(ModelNotFoundError, match=r"no config\.json.*holds nothing"):
        find(tmp_path)
    (tmp_path / "adapter_config.json").write_text("{}")
    with pytest.raises(ModelNotFoundError, match="an adapter, not a model; merge"):
        find(tmp_path)
    (tmp_path / "model.gguf").write_bytes(b"GGUF")
    with pytest.raises(ModelNotFoundError, match=r"give the path of one, for instance .*model\.gguf"):
        find(tmp_path)


def test_a_file_that_is_no_gguf(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"\x00" * 16)
    with pytest.raises(ModelNotFoundError, match="is a file but no GGUF"):
        find(tmp_path / "model.bin")


def test_truncated_weights(directory: Path) -> None:
    path = directory / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelNotFoundError, match=r"model\.safetensors is broken: it has [\d,]+ bytes instead of [\d,]+"):
        load_pretrained(find(directory), "float32", "cpu")


def test_a_shard_that_is_missing(directory: Path) -> None:
    index = {"metadata": {}, "weight_map": {"lm_head.weight": "model-00002-of-00002.safetensors"}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelNotFoundError, match=r"model-00002-of-00002\.safetensors is broken: it is missing"):
        load_pretrained(find(directory), "float32", "cpu")


def test_weights_that_lack_a_tensor_are_refused(directory: Path) -> None:
    """transformers would go on with random numbers in the third layer."""
    edit_config(directory, num_hidden_layers=3)
    with pytest.raises(ModelNotFoundError, match=r"lack 9 tensors, the first one model\.layers\.2\."):
        load_pretrained(find(directory), "float32", "cpu")


def test_no_weights_at_all(directory: Path) -> None:
    (directory / "model.safetensors").unlink()
    with pytest.raises(ModelNotFoundError, match=r"weights of .* cannot be loaded"):
        load_pretrained(find(directory), "float32", "cpu")


@pytest.mark.parametrize("change", [{"model_type": "no-such-architecture"}, {"model_type": "vit"}])
def test_no_causal_language_model(change: dict[str, str], directory: Path) -> None:
    edit_config(directory, **change)
    with pytest.raises(UnsupportedModelError, match="transformers"):
        load_pretrained(find(directory), "float32", "cpu")


def test_a_broken_config(directory: Path) -> None:
    (directory / "config.json").write_text("{")
    with pytest.raises(UnsupportedModelError, match=r"config\.json describes no model"):
        load_pretrained(find(directory), "float32", "cpu")


@pytest.mark.parametrize(
    ("dtype", "device", "complaint"),
    [
        ("float31", "cpu", "dtype is 'float31'; expected 'auto', 'float32'"),
        (torch.int8, "cpu", r"dtype is torch\.int8; expected a floating-point one"),
        ("auto", "gpu", "device is 'gpu'; expected 'auto', 'cpu'"),
    ],
)
def test_malformed_dtype_and_device(dtype: "str | torch.dtype", device: str, complaint: str, directory: Path) -> None:
    with pytest.raises(InvalidParameterError, match=complaint):
        load_pretrained(find(directory), dtype, device)


def test_gguf_without_its_packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr("headstart.models.gguf.importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelNotFoundError, match=r'needs the package gguf and accelerate.*pip install "headstart\[gguf\]"'):
        load_pretrained(find(path), "float32", "cpu")


@pytest.mark.bundled
def test_a_truncated_gguf(tmp_path: Path) -> None:
    """All of the header and none of the tensors, and only a part of the header."""
    whole, path = bundled._gguf_path(), tmp_path / "model.gguf"
    for size in (4_000_000, 1000):
        with whole.open("rb") as file:
            path.write_bytes(file.read(size))
        with pytest.raises(ModelNotFoundError, match=r"not a whole GGUF|breaks off"):
            load_pretrained(find(path), "float32", "cpu")
