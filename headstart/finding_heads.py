"""Which heads go with a model when nobody names them."""

from importlib.resources import files
from pathlib import Path

from transformers import PreTrainedModel

from headstart.drafters.heads_directory import WEIGHTS, HeadsDirectory

HEADS_FOLDER = "headstart"
"""In a model's directory: where the heads are that were trained together with it."""
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
    place = heads_beside(model)
    return None if place is None else HeadsDirectory.from_pretrained(str(place))


def heads_beside(model: "str | Path | PreTrainedModel") -> Path | None:
    """The directory that "auto" finds; None where there are no heads."""
    return next((directory for directory in _places(model) if (directory / WEIGHTS).is_file()), None)


def _places(model: "str | Path | PreTrainedModel") -> list[Path]:
    if isinstance(model, PreTrainedModel):
        model = str(getattr(model, "name_or_path", "") or "")
    if str(model) == "bundled":
        return [Path(str(files("headstart") / "assets" / _BUNDLED))]
    path = Path(model).expanduser()
    if path.is_file():
        path = path.parent
    return [path, path / HEADS_FOLDER] if path.is_dir() else []
