"""Which heads go with a model when nobody names them."""

from importlib.resources import files
from pathlib import Path

from transformers import PreTrainedModel

from headstart.drafters.heads_directory import HeadsDirectory

_BUNDLED = "smollm2-135m-instruct"


def find_heads(model: "str | Path | PreTrainedModel", heads: str | Path | None) -> HeadsDirectory | None:
    """The heads named, or with "auto" the bundled model's own, or those in the model's directory or its ``headstart`` folder.

    Raises:
        HeadsError: the named heads are missing or broken.
    """
    if heads is None:
        return None
    if heads != "auto":
        return HeadsDirectory.from_pretrained(str(heads))
    for directory in _beside(model):
        if (directory / "heads.safetensors").is_file():
            return HeadsDirectory.from_pretrained(str(directory))
    return None


def bundled_heads_path() -> Path:
    """Where the package keeps the heads of the bundled model."""
    return Path(str(files("headstart") / "assets" / _BUNDLED))


def _beside(model: "str | Path | PreTrainedModel") -> list[Path]:
    if isinstance(model, PreTrainedModel):
        model = str(getattr(model, "name_or_path", "") or "")
    if str(model) == "bundled":
        return [bundled_heads_path()]
    path = Path(model)
    if path.is_file():
        path = path.parent
    return [path, path / "headstart"] if path.is_dir() else []
