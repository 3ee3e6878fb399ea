"""Models in GGUF files, dequantised by transformers."""

import importlib.util
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from headstart.errors import ModelNotFoundError, UnsupportedModelError
from headstart.models.quiet import no_progress_bars

_MAGIC = b"GGUF"


def is_gguf(path: Path) -> bool:
    """Whether a file is a GGUF, by its first bytes or its name."""
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC or path.suffix == ".gguf"


def load_gguf(path: Path, dtype: torch.dtype) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """The model of a GGUF file with plain weights in ``dtype``, and its tokenizer.

    Raises:
        ModelNotFoundError: the packages that read GGUF are missing, or the file is broken.
        UnsupportedModelError: an architecture that transformers does not read from GGUF.
    """
    missing = [name for name in ("gguf", "accelerate") if importlib.util.find_spec(name) is None]
    if missing:
        raise ModelNotFoundError(
            f"reading {path.name} needs the package {' and '.join(missing)}; one command installs what is missing:"
            ' pip install "headstart[gguf]"'
        )
    _check(path)
    place: dict[str, Any] = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
    try:
        with no_progress_bars():
            model = AutoModelForCausalLM.from_pretrained(**place, dtype=dtype)
            tokenizer = AutoTokenizer.from_pretrained(**place)
    except (ValueError, KeyError, NotImplementedError) as error:
        raise UnsupportedModelError(f"transformers cannot read {path} as a causal language model: {error}") from error
    # the weights are plain now, but the config still says otherwise, and savers and loaders believe it
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.config.name_or_path = str(path)
    return model, tokenizer


def _check(path: Path) -> None:
    """Find a download that broke off before transformers stumbles over it."""
    from gguf import GGUFReader

    try:
        reader = GGUFReader(path)
        end = max((int(tensor.data_offset) + int(tensor.n_bytes) for tensor in reader.tensors), default=0)
    except (ValueError, KeyError, IndexError, OSError, OverflowError) as error:
        raise ModelNotFoundError(f"{path} is not a whole GGUF file ({error}); download it again") from error
    size = path.stat().st_size
    if end == 0 or end > size:
        raise ModelNotFoundError(f"{path} breaks off: its tensors reach to byte {end:,}, the file to {size:,}; download it again")
