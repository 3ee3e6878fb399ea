"""Two results side by side: what changed, and by more than the questions alone would make it."""

import math
from collections.abc import Mapping
from typing import Any

from headstart.bench.bootstrap import median_interval
from headstart.bench.contestants import PLAIN
from headstart.bench.table import Table
from headstart.bench.verdict import span, times

_NOT_COMPARED = {"date", "commit", "code", "clock_seconds", "load_average", "plan", "contestants", "questions"}


def compare(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """``rows`` has every contestant and setting that both have; ``environment`` what differs around them.

    ``agree`` is whether each median lies in the other's interval. ``change`` is the second speed-up over the first, question by
    question, with its interval; None where they share none, or took their questions from files of other names.
    """
    rows = []
    same_file = one["environment"].get("prompts") == other["environment"].get("prompts")
    for setting in one["latency"]["settings"]:
        theirs = next((row for row in other["latency"]["settings"] if row["label"] == setting["label"]), None)
        for name, before in setting["contestants"].items():
            after = None if theirs is None else theirs["contestants"].get(name)
            if theirs is None or after is None or name == PLAIN:
                continue
            a, b = before["against"][PLAIN], after["against"][PLAIN]
            if a["decode"] is None or b["decode"] is None:
                continue
            keys = [key for key in a["per_sample"] if same_file and key in b["per_sample"]]
            shared = [b["per_sample"][key] / a["per_sample"][key] for key in keys]
            change = median_interval(shared, noise=_noise(setting, theirs))
            rows.append(
                {
                    "setting": setting["label"],
                    "contestant": name,
                    "before": a["decode"],
                    "after": b["decode"],
                    "agree": _holds(a["decode"], b["decode"]["estimate"]) and _holds(b["decode"], a["decode"]["estimate"]),
                    "change": None if change is None else change.to_dict(),
                    "tokens_per_second": [x["tokens_per_second"]["decode"] for x in (before, after)],
                }
            )
    ours, theirs_env = one["environment"], other["environment"]
    around = sorted((set(ours) | set(theirs_env)) - _NOT_COMPARED)
    differ = {key: [ours.get(key), theirs_env.get(key)] for key in around if ours.get(key) != theirs_env.get(key)}
    for key in sorted(set(ours["plan"]) | set(theirs_env["plan"])):
        if ours["plan"].get(key) != theirs_env["plan"].get(key):
            differ[f"plan.{key}"] = [ours["plan"].get(key), theirs_env["plan"].get(key)]
    return {"rows": rows, "environment": differ, "agree": sum(row["agree"] for row in rows), "compared": len(rows)}


def comparison_table(found: Mapping[str, Any]) -> Table:
    """For people."""
    rows = [
        (
            f"{row['contestant']}, {row['setting']}",
            f"{times(row['before'])} ({span(row['before'])})",
            f"{times(row['after'])} ({span(row['after'])})",
            "" if row["change"] is None else f"{times(row['change'])} ({span(row['change'])}, n = {row['change']['n']})",
            " -> ".join(f"{speed:.1f}" for speed in row["tokens_per_second"]),
            "yes" if row["agree"] else "no",
        )
        for row in found["rows"]
    ]
    headings = ("", "first", "second", "second over first", "tokens/s", "agree")
    note = "Decoding against plain decoding, medians with their 95 % intervals; agree: each median in the other's interval."
    return Table("Speed-up in both", headings, rows, note)


def _noise(*settings: Mapping[str, Any]) -> float:
    """Of a ratio of two runs, each with its own."""
    return math.hypot(*(setting["noise"]["median_difference"] or 0.0 for setting in settings))


def _holds(interval: Mapping[str, float], value: float) -> bool:
    return interval["low"] <= value <= interval["high"]
