"""Whether a contestant writes what plain decoding writes, token for token, and how near a tie was where it does not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headstart.bench.contestants import AGAIN, PLAIN, About
from headstart.bench.journal import Entry

NEAR_TIE = 0.25
"""Logits: bfloat16 tells numbers between 16 and 32 apart by 0.125, so two roundings can turn a smaller lead round."""


@dataclass(frozen=True)
class Divergence:
    """Where two texts part."""

    common: list[int]
    """What both begin with."""
    tokens: tuple[int | None, int | None]
    """What each goes on with; None where it has ended."""


def divergence(one: Sequence[int], other: Sequence[int]) -> Divergence | None:
    """None for equal texts."""
    if list(one) == list(other):
        return None
    pairs = enumerate(zip(one, other, strict=False))
    at = next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))
    return Divergence(list(one[:at]), (one[at] if at < len(one) else None, other[at] if at < len(other) else None))


def equality(entries: Sequence[Entry], who: Sequence[About], *, sampled: bool) -> dict[str, dict[str, Any]]:
    """By contestant, over the batches of one setting: how many texts are plain decoding's, and where the others part.

    transformers and the rule "rejection" draw by another noise, so where texts are ``sampled`` they are left out.
    """
    found: dict[str, dict[str, Any]] = {}
    again = About(name=AGAIN, ours=True, drafter="none")
    for each in (*who, again):
        name = each.name
        runs = [entry for entry in entries if name in entry.runs]
        if not runs or name == PLAIN or (sampled and not each.follows_noise):
            continue
        parted: list[dict[str, Any]] = []
        texts = 0
        for entry in runs:
            margins = iter(entry.margins.get(name, ()))
            pairs = zip(entry.prompts, entry.runs[PLAIN].texts, entry.runs[name].texts, strict=True)
            for key, plain, text in pairs:
                texts += 1
                where = divergence(plain.ids, text.ids)
                if where is not None:
                    parted.append({"question": key, "unit": entry.unit, "at": len(where.common), "margin": next(margins, None)})
        known = [one["margin"] for one in parted if one["margin"] is not None]
        found[name] = {
            "texts": texts,
            "equal": texts - len(parted),
            "promised": each.ours and not each.lossy,
            "largest_margin": max(known, default=None),
            "near_ties": sum(margin <= NEAR_TIE for margin in known),
            "divergences": parted,
        }
    return found


def same_in_batches(alone: Sequence[Entry], together: Sequence[Entry]) -> dict[str, int]:
    """Plain decoding of the first turns in two batch sizes: how many texts are the same."""
    first = {key: ids for entry in alone for key, ids in _first_turns(entry)}
    pairs = [(first[key], ids) for entry in together for key, ids in _first_turns(entry) if key in first]
    return {"texts": len(pairs), "equal": sum(one == other for one, other in pairs)}


def _first_turns(entry: Entry) -> list[tuple[str, list[int]]]:
    if PLAIN not in entry.runs or not entry.unit.endswith(".0"):
        return []
    return [(key, text.ids) for key, text in zip(entry.prompts, entry.runs[PLAIN].texts, strict=True)]
