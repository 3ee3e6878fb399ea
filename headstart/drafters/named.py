"""Every drafter that can be asked for by name."""

from collections.abc import Mapping

from headstart.drafters.arrangement import GrownTree, StaticTree
from headstart.drafters.combined import CombinedDrafter
from headstart.drafters.draft_loading import LoadedDraft
from headstart.drafters.guesses import HeadGuesses
from headstart.drafters.heads import MedusaHeads
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.heads_source import HeadsSource
from headstart.drafters.hydra import HydraDrafter
from headstart.drafters.hydra_guesses import HydraGuesses
from headstart.drafters.hydra_source import HydraSource
from headstart.drafters.hydra_trees import GrownLevels, StaticLevels
from headstart.drafters.medusa import MedusaDrafter
from headstart.drafters.mtp import MtpDrafter
from headstart.drafters.ngram import NgramDrafter
from headstart.drafters.plain import PlainDrafter
from headstart.drafters.protocol import Drafter
from headstart.errors import InvalidParameterError
from headstart.models.protocol import BaseModel

OF_HEADS = ("medusa", "medusa-static", "hydra", "hydra-static", "mtp", "mtp-static", "combined")
"""Those that need heads."""


def named_drafters(model: BaseModel, heads: HeadsDirectory | None, draft: LoadedDraft | None = None) -> dict[str, Drafter]:
    """All that the model, its heads and its draft model, if there are any, allow."""
    drafters = _without_draft(model, heads)
    return drafters if draft is None else {**drafters, "draft-model": draft.drafter(model)}


def _without_draft(model: BaseModel, heads: HeadsDirectory | None) -> dict[str, Drafter]:
    device = model.facts.device
    ngram = NgramDrafter(device=device)
    if heads is None:
        return {"none": PlainDrafter(), "ngram": ngram}
    if heads.config.kind == "hydra":
        return {"none": PlainDrafter(), "ngram": ngram, **_of_hydra(heads, model, ngram)}
    guesses = HeadGuesses(heads.heads, model)
    grown = GrownTree(heads.config.num_heads, heads.config.projected_vocab, heads.calibration)
    if heads.config.kind == "mtp":
        return {
            "none": PlainDrafter(),
            "ngram": ngram,
            "mtp": MtpDrafter(guesses, model, grown),
            "mtp-static": MtpDrafter(guesses, model, StaticTree(heads.tree), name="mtp-static"),
        }
    return {
        "none": PlainDrafter(),
        "ngram": ngram,
        "medusa": MedusaDrafter(guesses, grown),
        "medusa-static": MedusaDrafter(guesses, StaticTree(heads.tree), name="medusa-static"),
        "combined": CombinedDrafter((ngram, HeadsSource(guesses, heads.calibration)), device=device),
    }


def _of_hydra(heads: HeadsDirectory, model: BaseModel, ngram: NgramDrafter) -> dict[str, Drafter]:
    assert isinstance(heads.heads, MedusaHeads), "Hydra heads are Medusa heads that read more"
    guesses = HydraGuesses(heads.heads, model)
    grown = GrownLevels(heads.config.num_heads, heads.config.projected_vocab, heads.calibration)
    return {
        "hydra": HydraDrafter(guesses, grown),
        "hydra-static": HydraDrafter(guesses, StaticLevels(heads.tree), name="hydra-static"),
        "combined": CombinedDrafter((ngram, HydraSource(guesses, heads.calibration)), device=model.facts.device),
    }


def chosen_drafter(name: str, drafters: Mapping[str, Drafter]) -> str:
    """The name itself, or what "auto" stands for: the draft model where one was named, mtp or combined where there are heads, else
    ngram.

    Raises:
        InvalidParameterError: there is no drafter of that name.
    """
    if name == "auto":
        if "draft-model" in drafters:
            return "draft-model"
        return next(name for name in ("combined", "mtp", "ngram") if name in drafters)
    if name not in drafters:
        others = any(other in drafters for other in OF_HEADS)
        lacking = "the heads that are loaded are of another kind" if others else "no heads are loaded"
        hint = f"; {lacking}: name them with heads=" if name in OF_HEADS else ""
        hint = "; no draft model is loaded: name one with draft_model=" if name == "draft-model" else hint
        raise InvalidParameterError(f"drafter {name!r} is not available; expected one of {sorted(drafters)}{hint}")
    return name
