"""What the quality part comes to, in sentences."""

from collections.abc import Mapping
from typing import Any

from headstart.bench.contestants import PLAIN
from headstart.bench.quality.asked import CODE, EXACT_MATCH, PERPLEXITY
from headstart.bench.quality.tables import points


def quality_sentences(result: Mapping[str, Any], subject: str) -> list[str]:
    """Of the subject, a sentence a temperature: likelihood of its answers and tasks solved, beside the base's."""
    quality = result["quality"]
    base = quality.get("base", PLAIN)
    said = []
    for kind in ("answers", "tasks"):
        for row in quality.get(kind, ()):
            mine = row["contestants"].get(subject)
            if mine is None or subject == base:
                continue
            parts = _likely(mine) if kind == "answers" else _solved(mine, row["contestants"].get(base, {}), base)
            if parts:
                said.append(f"Quality at temperature {row['temperature']:g}: {'; '.join(parts)}.")
    return said


def _likely(mine: Mapping[str, Any]) -> list[str]:
    of_base = mine.get(PERPLEXITY, {}).get("of_base")
    if of_base is None:
        return []
    return [
        f"the perplexity of its answers under the base model is {of_base['estimate']:.3f} times that of the base's own"
        f" ({of_base['low']:.3f} to {of_base['high']:.3f}, n = {of_base['n']})"
    ]


def _solved(mine: Mapping[str, Any], base: Mapping[str, Any], name: str) -> list[str]:
    parts = []
    for kind, what in ((EXACT_MATCH, "questions with references"), (CODE, "functions to write")):
        found, other = mine.get(kind), base.get(kind)
        if found is None or other is None or found["more_than_base"] is None:
            continue
        right, n = _count(found), found["right"]["n"]
        parts.append(
            f"{right} of {n} {what} right, {_whose(name)} {_count(other)}; difference in points {points(found['more_than_base'])}"
        )
    return parts


def _count(found: Mapping[str, Any]) -> int:
    share: float = found["right"]["estimate"]
    n: int = found["right"]["n"]
    return round(share * n)


def _whose(base: str) -> str:
    return "plain decoding" if base == PLAIN else "the base model"


def quality_warnings(result: Mapping[str, Any]) -> list[str]:
    """Lossy contestants of whose answers nothing is known, and code that ran with the network in reach."""
    quality, about = result["quality"], result["environment"].get("contestants", {})
    lossy = [name for name, facts in about.items() if facts["lossy"]]
    measured = {name for kind in ("answers", "tasks") for row in quality.get(kind, ()) for name in row["contestants"]}
    found = [f"{name} is lossy, and the quality of its answers was not measured." for name in lossy if name not in measured]
    if lossy and all(row["temperature"] == 0 for row in result["quality"]["equality"]):
        found.append("Lossy rules write the model's own text at temperature 0; measure them above it, with --temperature 0,1.")
    left = {kind: count for row in quality.get("tasks", ()) for kind, count in row["left_out"].items() if count}
    found += [
        f"{kind}: {count} tasks were left out, since the model's context has no room for them." for kind, count in left.items()
    ]
    if quality.get("code_without_network") is False:
        found.append("Code that the model wrote ran where the network could not be taken away; its calls were refused instead.")
    return found
