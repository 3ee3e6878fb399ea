"""Every drafter that can be asked for by name."""

from collections.abc import Mapping

from headstart.drafters.arrangement import GrownTree, StaticTree
from headstart.drafters.combined import CombinedDrafter
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.heads_source import HeadsSource
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.ngram import NgramDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.drafters.protocol import Drafter
from headstart.errors import InvalidParameterError
from headstart.models.protocol import BaseModel

_OF_HEADS = ("medusa", "medusa-static", "combined")


def named_drafters(model: BaseModel, heads: HeadsDirectory | None) -> dict[str, Drafter]:
    """All that the model and its heads, if there are any, allow."""
    device = model.facts.device
    ngram = NgramDrafter(device=device)
    if heads is None:
        return {"none": PlainDrafter(), "ngram": ngram}
    guesses = HeadGuesses(heads.heads, model)
    grown = GrownTree(heads.config.num_heads, heads.config.projected_vocab, heads.calibration)
    return {
        "none": PlainDrafter(),
        "ngram": ngram,
        "medusa": MedusaDrafter(guesses, grown),
        "medusa-static": MedusaDrafter(guesses, StaticTree(heads.tree), name="medusa-static"),
        "combined": CombinedDrafter((ngram, HeadsSource(guesses, heads.calibration)), device=device),
    }


def chosen_drafter(name: str, drafters: Mapping[str, Drafter]) -> str:
    """The name itself, or what "auto" stands for: combined where there are heads, else ngram.

    Raises:
        InvalidParameterError: there is no drafter of that name.
    """
    if name == "auto":
        return "combined" if "combined" in drafters else "ngram"
    if name not in drafters:
        hint = "; no heads are loaded: name them with heads=" if name in _OF_HEADS else ""
        raise InvalidParameterError(f"drafter {name!r} is not available; expected one of {sorted(drafters)}{hint}")
    return name
