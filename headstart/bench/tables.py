"""The tables of a result, as terminal and report show them."""

from collections.abc import Mapping, Sequence
from typing import Any

from headstart.bench.contestants import PLAIN, TRANSFORMERS
from headstart.bench.equality import NEAR_TIE
from headstart.bench.quality.tables import quality_tables
from headstart.bench.table import Table
from headstart.bench.verdict import span, times

NONE = ""


def tables(result: Mapping[str, Any]) -> list[Table]:
    """All that have something in them."""
    found = [
        *(_speed(result, row) for row in result["latency"]["settings"]),
        *(_times(row) for row in result["latency"]["settings"]),
        _spec_bench(result),
        *(_categories(result, row) for row in result["latency"]["settings"][:1]),
        *(_depths(row) for row in result["acceptance"]["settings"][:1]),
        *(_parts(row) for row in result["overhead"]["settings"][:1]),
        _parted(result["quality"]["equality"]),
        _predictions(result),
        *(_costs(result, paying["temperature"]) for paying in result["cost"]["stops_paying"]),
        *quality_tables(result["quality"]),
    ]
    return [table for table in found if table is not None and table.rows]


def _speed(result: Mapping[str, Any], setting: Mapping[str, Any]) -> Table:
    label = setting["label"]
    accepted = _row_of(result["acceptance"]["settings"], label)
    equal = _row_of(result["quality"]["equality"], label)
    theirs = TRANSFORMERS in setting["contestants"]
    rows = []
    for name, speed in setting["contestants"].items():
        same = equal.get(name)
        cells = [
            name,
            times(accepted[name]["tokens_per_step"]) if name in accepted else "1.00" if name == PLAIN else NONE,
            f"{speed['tokens_per_second']['decode']:.1f}",
            _ratio(speed["against"].get(PLAIN), "decode"),
            _ratio(speed["against"].get(PLAIN), "end_to_end"),
            *([_ratio(speed["against"].get(TRANSFORMERS), "decode")] if theirs else []),
            NONE if same is None else f"{same['equal']} of {same['texts']}",
        ]
        rows.append(tuple(cells))
    first = next(iter(setting["contestants"].values()), None)
    note = ""
    if first is not None:
        note = (
            f"{first['samples']} {'questions' if setting['batch'] == 1 else 'batches'}, {first['texts']} texts, on average"
            f" {first['prompt_tokens']:.0f} prompt tokens and {first['output_tokens']:.0f} written. Ratios of tokens/s: medians, in"
            " brackets their 95 % intervals."
        )
    headings = ("", "tokens per step", "tokens/s", "decoding, to plain", "end to end, to plain")
    return Table(
        f"Speed at {label}",
        (*headings, *(("decoding, to transformers",) if theirs else ()), "same text as plain"),
        rows,
        note,
    )


def _times(setting: Mapping[str, Any]) -> Table:
    rows = [
        (name, *(_percentiles(speed[kind]) for kind in ("ms_per_token", "ms_between_pieces", "ms_to_first_token", "ms_prefill")))
        for name, speed in setting["contestants"].items()
    ]
    note = "p50 / p90 / p99, of texts, pieces, texts and prompts; the time a token is that after a text's first one."
    return Table(
        f"Milliseconds, {setting['label']}", ("", "a token", "between pieces", "to the first token", "prompt's pass"), rows, note
    )


def _spec_bench(result: Mapping[str, Any]) -> Table | None:
    found = result["latency"].get("spec_bench")
    if not found:
        return None
    names = list(next(iter(found.values())))
    rows = [
        (
            name,
            *(
                f"{group[name]['speedup']:.2f}x"
                + (f" ({group[name]['mean_accepted']:.2f})" if group[name]["mean_accepted"] else "")
                if name in group
                else NONE
                for group in found.values()
            ),
        )
        for name in names
    ]
    note = "Speed-up from end to end against plain decoding as Spec-Bench counts it, in brackets mean accepted tokens a step."
    return Table("Spec-Bench", ("", *found), rows, note)


def _categories(result: Mapping[str, Any], setting: Mapping[str, Any]) -> Table:
    contestants = {name: c for name, c in setting["contestants"].items() if name != PLAIN}
    categories = sorted({category for c in contestants.values() for category in c["by_category"]})
    accepted = _row_of(result["acceptance"]["settings"], setting["label"])
    rows = []
    for category in categories:
        cells = []
        for name, speed in contestants.items():
            found = speed["by_category"].get(category, {}).get("decode")
            steps = accepted.get(name, {}).get("by_category", {}).get(category)
            cells.append(NONE if found is None else f"{times(found)}" + ("" if steps is None else f" ({steps:.2f})"))
        counts = [c["by_category"][category]["decode"]["n"] for c in contestants.values() if category in c["by_category"]]
        rows.append((category, str(max(counts, default=0)), *cells))
    note = "Decoding against plain decoding, medians over questions; in brackets tokens per step."
    return Table(f"By category, {setting['label']}", ("", "questions", *contestants), rows if len(rows) > 1 else [], note)


def _depths(setting: Mapping[str, Any]) -> Table:
    contestants = setting["contestants"]
    depth = max((len(found["joint"]) for found in contestants.values()), default=0)
    rows = []
    for d in range(depth):
        cells = [
            f"{found['joint'][d]:.3f} ({found['conditional'][d]:.3f})" if d < len(found["joint"]) else NONE
            for found in contestants.values()
        ]
        rows.append((f"at least {d + 1}", *cells))
    note = "Share of steps that accepted so many guesses; in brackets, of the steps that accepted one less."
    return Table(f"Accepted guesses, {setting['label']}", ("guesses", *contestants), rows, note)


def _parted(settings: Sequence[Mapping[str, Any]]) -> Table:
    rows = [
        (
            f"{name}, {setting['label']}",
            f"{same['texts'] - same['equal']} of {same['texts']}",
            str(same["near_ties"]),
            NONE if same["largest_margin"] is None else f"{same['largest_margin']:.3g}",
        )
        for setting in settings
        for name, same in setting["contestants"].items()
        if same["equal"] < same["texts"]
    ]
    note = (
        "Where a text parts from plain decoding's: by how many logits the model's likeliest token leads there, at temperature 0; a"
        f" near-tie is a lead of at most {NEAR_TIE:g}, which rounding in 16 bits can turn round."
    )
    return Table("Other texts than plain decoding's", ("", "other texts", "near-ties", "largest lead"), rows, note)


def _parts(setting: Mapping[str, Any]) -> Table:
    contestants = {n: (c["parts"] or c["ms_per_step"]) for n, c in setting["contestants"].items()}
    names = list(dict.fromkeys(part for parts in contestants.values() for part in parts))
    rows = [(part, *(f"{c[part]:.2f}" if part in c else NONE for c in contestants.values())) for part in names]
    if rows:
        rows.append(("step", *(f"{c['step_ms']:.2f}" for c in setting["contestants"].values())))
    return Table(f"Milliseconds of a step, {setting['label']}", ("", *contestants), rows, "Means over all steps.")


def _predictions(result: Mapping[str, Any]) -> Table:
    rows = []
    for setting in result["overhead"]["settings"]:
        for name, parts in setting["contestants"].items():
            found = parts["prediction"]
            if found is not None:
                rows.append(
                    (
                        f"{name}, {setting['label']}",
                        f"{found['tokens_per_step']:.2f}",
                        f"{found['plain_pass_ms']:.1f}",
                        f"{found['overhead_ms']:.1f}",
                        f"{found['predicted_speedup']:.2f}",
                        f"{found['measured_speedup']:.2f}",
                    )
                )
    return Table(
        "Predicted and measured speed-up",
        ("", "L", "T ms", "overhead ms", "L*T/(T+overhead)", "measured"),
        rows,
        "T is the plain pass; overhead is T(n) - T + drafting + acceptance + commit. Measured over all tokens, decoding alone.",
    )


def _costs(result: Mapping[str, Any], temperature: float) -> Table:
    price = result["cost"]["price_per_hour"]
    settings = [row for row in result["cost"]["settings"] if row["temperature"] == temperature]
    names = list(dict.fromkeys(name for row in settings for name in row["contestants"]))
    rows = []
    for name in names:
        found = [row["contestants"].get(name) for row in settings]
        cells = [
            NONE
            if each is None
            else f"{each['device_seconds_per_token']['estimate'] * 1e3:.2f} ({each['of_plain']:.2f})"
            + ("" if price is None else f" {each['price_per_million']:.2f}")
            for each in found
        ]
        rows.append((name, *cells))
    note = "Device milliseconds an output token, prompts' passes included; in brackets, of plain decoding's in the same batch"
    note += "." if price is None else f"; then the price of a million tokens at {price:g} an hour."
    return Table(f"Cost, temperature {temperature:g}", ("", *(f"batch {row['batch']}" for row in settings)), rows, note)


def _percentiles(found: Mapping[str, Any]) -> str:
    return " / ".join(NONE if found[p] is None else f"{found[p]:.1f}" for p in ("p50", "p90", "p99"))


def _row_of(settings: Sequence[Mapping[str, Any]], label: str) -> Mapping[str, Any]:
    """The contestants of the setting of that label."""
    return next((row["contestants"] for row in settings if row["label"] == label), {})


def _ratio(against: Mapping[str, Any] | None, kind: str) -> str:
    if against is None or against[kind] is None:
        return NONE
    return f"{times(against[kind])} ({span(against[kind])})"
