"""What to make of a result, in words, from its numbers alone."""

import math
from collections.abc import Mapping
from typing import Any

from headstart.bench.bootstrap import FEW
from headstart.bench.contestants import AGAIN, PLAIN, TRANSFORMERS
from headstart.bench.quality.words import quality_sentences, quality_warnings

_UNACCOUNTED, _MEASURING = 0.03, 0.02
_UNEVEN = 0.2
"""By how much the speed-up over all tokens may differ from the median before it is said."""
_BUSY = 1.5
"""Load average of a processor; loading the model, or a run just before, leaves about 1."""
_DTYPES = {"bfloat16", "float16"}


def verdict(result: Mapping[str, Any]) -> dict[str, Any]:
    """``headline`` says it in a sentence, ``sentences`` more, ``warnings`` where not to believe it.

    ``deploy`` is "yes" where the subject is faster than plain decoding from end to end in the first setting, its whole interval
    above 1; "no" where the interval is below 1; else, and with fewer than eight questions, "cannot tell".
    """
    subject = result["environment"]["plan"]["contestants"][0]
    first = result["latency"]["settings"][0]
    mine = first["contestants"].get(subject)
    if mine is None or mine["against"][PLAIN]["decode"] is None:
        said = f"{first['label']}: no question was decoded by all contestants, so there is nothing to compare."
        return {"headline": said, "deploy": "cannot tell", "sentences": [], "warnings": _warnings(result)}
    whole = mine["against"][PLAIN]["end_to_end"]
    if subject == PLAIN or whole["n"] < FEW:
        deploy = "cannot tell"
    else:
        deploy = "yes" if whole["low"] > 1 else "no" if whole["high"] < 1 else "cannot tell"
    return {
        "headline": _headline(result, subject, mine, deploy),
        "deploy": deploy,
        "sentences": [
            *_advice(subject, deploy, whole),
            *_others(result, subject),
            *_settings(result, subject),
            *quality_sentences(result, subject),
        ],
        "warnings": _warnings(result),
    }


def _headline(result: Mapping[str, Any], subject: str, mine: Mapping[str, Any], deploy: str) -> str:
    setting, decode = result["latency"]["settings"][0], mine["against"][PLAIN]["decode"]
    said = (
        f"At {setting['label']} on this machine ({_machine(result['environment'])}), {subject} decodes {times(decode)}"
        f" times as fast as plain decoding (95 % interval {span(decode)}, n = {decode['n']})"
    )
    same = result["quality"]["equality"][0]["contestants"].get(subject)
    if same is not None:
        said += f", text identical in {same['equal']} of {same['texts']}"
    paying = result["cost"]["stops_paying"][0]["contestants"].get(subject)
    if paying is not None and subject != PLAIN and deploy != "cannot tell":
        said += f"; {_paying(paying, deploy)}"
    return f"{said}."


def _machine(where: Mapping[str, Any]) -> str:
    """``AMD EPYC, 2 threads, bfloat16``."""
    threads = where.get("threads")
    counted = f"{threads} thread{'s' if threads != 1 else ''}" if threads and where.get("device", "cpu") == "cpu" else ""
    return ", ".join(part for part in (where.get("processor"), counted, where.get("dtype"), where.get("weights")) if part)


def _paying(paying: Mapping[str, Any], deploy: str) -> str:
    """Of the smallest batch size what is advised: the cost is of all tokens, the advice of medians, and they could contradict."""
    first, *others = sizes = paying["measured"]
    pays = [size for size in sizes if size in paying["pays"]] if others else []
    pays = [*([first] if deploy == "yes" else []), *(size for size in pays if size != first)]
    if not others:
        return f"{'pays' if pays else 'does not pay'} at batch {first}"
    if not pays:
        return "does not pay at any batch size measured"
    if pays == sizes:
        return f"pays at every batch size measured, up to {sizes[-1]}"
    if pays == sizes[: len(pays)] and paying["above"]:
        return f"stops paying above batch {paying['above']}"
    return f"pays at batch {', '.join(map(str, pays))} of {', '.join(map(str, sizes))}"


def _advice(subject: str, deploy: str, whole: Mapping[str, float]) -> list[str]:
    if subject == PLAIN:
        return ["Plain decoding was compared with itself and others; there is nothing to deploy."]
    said = f"with the prompts' passes it is {times(whole)} times as fast ({span(whole)})"
    why = f"and {whole['n']} questions are too few" if whole["n"] < FEW else "an interval that holds 1"
    return [
        {
            "yes": f"Deploy {subject}: {said}.",
            "no": f"Do not deploy {subject} here, decode plainly: {said}.",
            "cannot tell": f"Whether {subject} pays cannot be told from this run: {said}, {why}.",
        }[deploy]
    ]


def _others(result: Mapping[str, Any], subject: str) -> list[str]:
    """Who is faster than the subject, and how far transformers is behind."""
    first = result["latency"]["settings"][0]["contestants"]
    mine = first[subject]
    about = result["environment"]["contestants"]
    said = []
    if TRANSFORMERS in mine["against"] and mine["against"][TRANSFORMERS]["decode"] is not None:
        ratio = mine["against"][TRANSFORMERS]["decode"]
        said.append(f"Against transformers' generate it decodes {times(ratio)} times as fast ({span(ratio)}).")
    fair = [name for name in first if name != PLAIN and about[name]["ours"] and not about[name]["lossy"]]
    ours = {name: first[name]["against"][PLAIN]["end_to_end"] for name in fair}
    if subject not in ours or not all(ours.values()):
        return said
    best = max(ours, key=lambda name: ours[name]["estimate"])
    if best != subject and ours[best]["low"] > max(1.0, ours[subject]["estimate"]):
        said.append(f"{best} is faster still: {times(ours[best])} times plain decoding from end to end ({span(ours[best])}).")
    return said


def _settings(result: Mapping[str, Any], subject: str) -> list[str]:
    """The other batch sizes and temperatures."""
    said = []
    equal = {row["label"]: row["contestants"].get(subject) for row in result["quality"]["equality"]}
    for row in result["latency"]["settings"][1:]:
        mine = row["contestants"].get(subject)
        if mine is None or mine["against"][PLAIN]["end_to_end"] is None or subject == PLAIN:
            continue
        whole, same = mine["against"][PLAIN]["end_to_end"], equal.get(row["label"])
        text = f", text identical in {same['equal']} of {same['texts']}" if same else ""
        said.append(
            f"At {row['label']}: {times(whole)} times plain decoding from end to end ({span(whole)}, n = {whole['n']}){text}."
        )
    return said


def _warnings(result: Mapping[str, Any]) -> list[str]:
    found = _busy(result["environment"])
    for row in result["latency"]["settings"]:
        label, checked = row["label"], row["noise"]
        if checked["noisy"]:
            found.append(
                f"{label}: the machine was too noisy to tell small differences: the same prompts decoded plainly twice differ by"
                f" {checked['median_difference']:.0%} (median of {checked['repeats']}). Measure again while nothing else runs."
            )
        if not checked["repeats"]:
            found.append(f"{label}: no batch was decoded plainly twice, so nobody knows how noisy the machine was.")
        counted = max((c["samples"] for c in row["contestants"].values()), default=0)
        if counted < FEW:
            what = "questions" if row["batch"] == 1 else "batches"
            found.append(f"{label}: {counted} {what}; intervals of fewer than {FEW} are too narrow.")
        left = row["left_out"]
        if left["skipped"] or left["too_short"]:
            reason = f" ({'; '.join(left['reasons'])})" if left["reasons"] else ""
            found.append(f"{label}: {left['skipped']} batches skipped{reason}, {left['too_short']} too short to time.")
        found += _uneven(row)
    return [*found, *_unequal(result), *quality_warnings(result), *_unclear(result)]


def _busy(where: Mapping[str, Any]) -> list[str]:
    """Others who computed when the run began."""
    load, cpus = where.get("load_average"), where.get("cpus")
    if not load or not cpus or load[0] <= _BUSY * cpus:
        return []
    return [
        f"Other programs were running when this began (load average {load[0]:.1f} on {cpus} processors). Measure again while"
        " nothing else runs."
    ]


def _uneven(setting: Mapping[str, Any]) -> list[str]:
    """Medians that hide something: a few questions that took so long that they decide about the whole."""
    found = []
    for name, speed in setting["contestants"].items():
        ratio = speed["against"][PLAIN]
        median, whole = ratio["decode"], ratio["decode_totals"]
        if median is None or abs(math.log(whole["estimate"] / median["estimate"])) <= math.log1p(_UNEVEN):
            continue
        pick = min if whole["estimate"] < median["estimate"] else max
        key = pick(ratio["per_sample"], key=ratio["per_sample"].__getitem__)
        what = "questions" if setting["batch"] == 1 else "batches"
        found.append(
            f"{setting['label']}: {name}'s median speed-up is {times(median)}, but over all tokens it is {times(whole)}: some"
            f" {what} are far from the rest, {key} with {ratio['per_sample'][key]:.2f} the farthest. Something may have held the"
            " machine up; measure again."
        )
    return found


def _unequal(result: Mapping[str, Any]) -> list[str]:
    """Texts that are another where the rule of acceptance promises the same."""
    found = []
    low = result["environment"].get("dtype") in _DTYPES
    for row in result["quality"]["equality"]:
        for name, same in row["contestants"].items():
            parted = same["texts"] - same["equal"]
            if not same["promised"] or not parted:
                continue
            what = "plain decoding run twice" if name == AGAIN else name
            said = f"{row['label']}: {what} wrote another text in {parted} of {same['texts']}"
            if same["largest_margin"] is not None:
                said += f"; where they part, the two likeliest tokens are at most {same['largest_margin']:.3g} logits apart"
                said += ", near-ties that rounding decides" if low and same["near_ties"] == parted else ", which is no near-tie"
            found.append(f"{said}.")
        together = row["same_in_batches"]
        if together["equal"] < together["texts"]:
            found.append(f"{row['label']}: {together['texts'] - together['equal']} plain texts differ from those decoded alone.")
    return found


def _unclear(result: Mapping[str, Any]) -> list[str]:
    """Times that do not add up, or that measuring itself takes."""
    found = []
    clock = result["environment"].get("clock_seconds") or 0.0
    for row in result["overhead"]["settings"]:
        for name, parts in row["contestants"].items():
            if abs(parts["unaccounted_share"]) > _UNACCOUNTED:
                found.append(f"{row['label']}: {parts['unaccounted_share']:.1%} of {name}'s time belongs to no part of a step.")
            if clock * 1e3 > _MEASURING * parts["step_ms"]:
                found.append(f"{row['label']}: reading the clock takes {clock * 1e3 / parts['step_ms']:.1%} of {name}'s steps.")
    return found


def times(interval: Mapping[str, float]) -> str:
    """``2.31``."""
    return f"{interval['estimate']:.2f}"


def span(interval: Mapping[str, float]) -> str:
    """``2.10 to 2.55``."""
    return f"{interval['low']:.2f} to {interval['high']:.2f}"
