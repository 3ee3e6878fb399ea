"""From what a user calls a model to a loaded transformers model: bundled, directory, hub id, GGUF file, or the model itself."""

import difflib
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import (
    EntryNotFoundError,
    GatedRepoError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
    RepositoryNotFoundError,
)
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from headstart.errors import InvalidParameterError, ModelNotFoundError, UnsupportedModelError
from headstart.models.bundled import bundled_path
from headstart.models.dtype import resolve_device, resolve_dtype
from headstart.models.gguf import is_gguf, load_gguf
from headstart.models.quiet import no_progress_bars
from headstart.models.weight_files import directory_fault

BUNDLED = "bundled"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_SMALL_FILES = ["*.json", "*.jinja", "*.model", "*.txt"]
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")
_EXPECTED = 'expected "bundled", a model directory, a hub id such as "HuggingFaceTB/SmolLM2-135M-Instruct", or a GGUF file'

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a model comes from. Nothing has been loaded yet."""

    kind: Literal["bundled", "directory", "hub", "gguf", "object"]
    name: str
    """What people call it: "bundled", the path, the hub id."""
    path: Path | None = None
    """Of a directory or a GGUF file; None for a hub id and a model that is loaded already."""
    model: PreTrainedModel | None = None


def find(model: "str | Path | PreTrainedModel") -> Source:
    """Tell what kind of source ``model`` is.

    Raises:
        ModelNotFoundError: no such path and no hub id, a directory that holds no model, or the bundled model is missing.
    """
    if isinstance(model, PreTrainedModel):
        return Source(kind="object", name=model.name_or_path or type(model).__name__, model=model)
    if not isinstance(model, (str, Path)):
        raise ModelNotFoundError(f"model is of type {type(model).__name__}; {_EXPECTED}, or a transformers PreTrainedModel")
    if model == BUNDLED:
        return Source(kind="bundled", name=BUNDLED, path=bundled_path())
    path = Path(model).expanduser()
    if path.is_dir():
        _require_model(path)
        return Source(kind="directory", name=str(model), path=path)
    if path.is_file():
        if not is_gguf(path):
            raise ModelNotFoundError(f"{path} is a file but no GGUF; {_EXPECTED}")
        return Source(kind="gguf", name=str(model), path=path)
    if isinstance(model, str) and _HUB_ID.fullmatch(model) and path.suffix != ".gguf":
        return Source(kind="hub", name=model)
    raise ModelNotFoundError(f"there is no model at {str(model)!r}{_near(path)}; {_EXPECTED}")


def load_pretrained(
    source: Source, dtype: "str | torch.dtype" = "auto", device: "str | torch.device" = "auto"
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase | None, str]:
    """The model, its tokenizer (None where it has none) and its name. What is loaded here is in eval mode.

    ``dtype="auto"`` is bfloat16 where the device has it, else float32. Quantised weights stay as they are, and so does a
    model that was given as an object.

    Raises:
        ModelNotFoundError: the hub does not know the id or cannot be reached, or a file is missing or broken.
        UnsupportedModelError: not a causal language model that transformers knows.
        InvalidParameterError: dtype or device is malformed, or was given for a model that is loaded already.
    """
    if source.model is not None:
        return _as_it_is(source.model, dtype, device), _tokenizer_of(source.model), source.name
    where = resolve_device(device)
    if source.kind == "gguf":
        assert source.path is not None
        model, tokenizer = load_gguf(source.path, resolve_dtype(dtype, where))
        return _on(model, where), tokenizer, source.name
    files = source.path if source.path is not None else _download_small_files(source.name)
    model = _load(source, files, dtype, where)
    return model, _load_tokenizer(files), source.name


def _load(source: Source, files: Path, dtype: "str | torch.dtype", device: torch.device) -> PreTrainedModel:
    place = source.name if source.path is None else str(source.path)
    if source.path is not None and (found := directory_fault(source.path)) is not None:
        raise ModelNotFoundError(f"{found[0]} is broken: {found[1]}. Copy or download this file again")
    try:
        config = AutoConfig.from_pretrained(files)
    except (ValueError, KeyError, OSError) as error:
        raise UnsupportedModelError(f"{files / 'config.json'} describes no model that transformers can load: {error}") from error
    quantised = getattr(config, "quantization_config", None) is not None
    options: dict[str, Any] = {"dtype": "auto", "device_map": str(device)} if quantised else {"dtype": resolve_dtype(dtype, device)}
    try:
        with no_progress_bars(source.kind != "hub"):
            loaded: Any = AutoModelForCausalLM.from_pretrained(place, output_loading_info=True, **options)
    except SafetensorError as error:
        raise ModelNotFoundError(f"a weight file of {source.name} is broken ({error}); delete {files} and load it again") from error
    except OSError as error:
        raise ModelNotFoundError(f"the weights of {source.name} cannot be loaded: {error}") from error
    except (ValueError, ImportError) as error:
        raise UnsupportedModelError(f"transformers cannot load {source.name} as a causal language model: {error}") from error
    model, info = loaded
    absent = sorted(info["missing_keys"])
    if absent and not quantised:
        raise ModelNotFoundError(
            f"the weights of {source.name} lack {len(absent)} tensors, the first one {absent[0]}: transformers would fill them with"
            " random numbers. Download the model again, or check that it is a causal language model"
        )
    return model if quantised else _on(model, device)


def _on(model: PreTrainedModel, device: torch.device) -> PreTrainedModel:
    untyped: Any = model  # transformers wraps the types of these methods away
    untyped.to(device).eval()
    return model


def _as_it_is(model: PreTrainedModel, dtype: "str | torch.dtype", device: "str | torch.device") -> PreTrainedModel:
    if dtype != "auto" and resolve_dtype(dtype, model.device) != model.dtype:
        raise InvalidParameterError(
            f"dtype={dtype} was asked for, but the model was given loaded, in {model.dtype}: convert it before, or leave dtype out"
        )
    if device != "auto" and resolve_device(device).type != model.device.type:
        raise InvalidParameterError(
            f"device={device} was asked for, but the model was given loaded, on {model.device}: move it before, or leave device out"
        )
    return model


def _require_model(directory: Path) -> None:
    if (directory / "config.json").is_file():
        return
    ggufs = sorted(directory.glob("*.gguf"))
    if ggufs:
        raise ModelNotFoundError(f"{directory} has no config.json but GGUF files; give the path of one, for instance {ggufs[0]}")
    if (directory / "adapter_config.json").is_file():
        raise ModelNotFoundError(
            f"{directory} holds an adapter, not a model; merge it into its base model (merge_and_unload) and save that"
        )
    inside = ", ".join(sorted(path.name for path in directory.iterdir())[:6]) or "nothing"
    raise ModelNotFoundError(f"{directory} has no config.json, so it is no model directory (it holds {inside})")


def _near(path: Path) -> str:
    """Names beside the missing path that look like it."""
    if not path.parent.is_dir():
        return f" (the directory {path.parent} does not exist)"
    close = difflib.get_close_matches(path.name, [other.name for other in path.parent.iterdir()], n=3)
    return f" (beside it: {', '.join(close)})" if close else ""


def _download_small_files(hub_id: str) -> Path:
    """Config and tokenizer of a hub model, from the hub or its cache."""
    try:
        folder = Path(snapshot_download(hub_id, allow_patterns=_SMALL_FILES, ignore_patterns=["*/*"]))
    except GatedRepoError as error:
        raise ModelNotFoundError(
            f"{hub_id} asks for its terms to be accepted: do so on https://huggingface.co/{hub_id}, then run: hf auth login"
        ) from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise ModelNotFoundError(
            f"the hub knows no model {hub_id!r} that you may read, and there is no such directory here{_near(Path(hub_id))};"
            f" {_EXPECTED}. For a private model run: hf auth login"
        ) from error
    except (LocalEntryNotFoundError, EntryNotFoundError, HfHubHTTPError, OSError) as error:
        raise ModelNotFoundError(
            f"there is no directory {hub_id!r} here{_near(Path(hub_id))}, it is not in the hub's cache, and the hub cannot be"
            " reached; go online (is HF_HUB_OFFLINE set?), or give the path of a model directory"
        ) from error
    if not (folder / "config.json").is_file():
        raise ModelNotFoundError(f"{hub_id} has no config.json, so it holds no transformers model; {_EXPECTED}")
    return folder


def _load_tokenizer(directory: Path) -> PreTrainedTokenizerBase | None:
    if not any((directory / name).is_file() for name in _TOKENIZER_FILES):
        return None
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(directory)
    except Exception as error:  # each kind of tokenizer fails in its own way; none of them may be dropped
        raise ModelNotFoundError(f"the tokenizer in {directory} cannot be loaded: {error}") from error
    return tokenizer


def _tokenizer_of(model: PreTrainedModel) -> PreTrainedTokenizerBase | None:
    """The tokenizer that lies where the model came from; None if nobody knows where that is, or it has none."""
    name = model.name_or_path
    if not name:
        return None
    try:
        return _load_tokenizer(Path(name) if Path(name).is_dir() else _download_small_files(name))
    except ModelNotFoundError as error:
        _log.warning("no tokenizer for %s, so it takes token ids only: %s", name, error)
        return None
