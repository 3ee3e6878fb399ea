"""What ``headstart inspect --speed`` says: bandwidth, the floor of a step, the latency curve, and where a step's time goes."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table

from headstart.engine.budget import AutomaticBudget
from headstart.errors import ChatTemplateError
from headstart.llm import LLM
from headstart.tuning.bandwidth import read_bandwidth
from headstart.tuning.latency import CONTEXT, NODES, measure_latency
from headstart.tuning.pass_bytes import PassBytes
from headstart.tuning.step_profile import StepProfile, step_profile
from headstart.tuning.warm_pass import likely_shape

_QUESTION = "Describe a day at a railway station in a small town, from the first train to the last."
_TOKENS = 64
_PHASES = {
    "draft": "drafting",
    "verify": "the model's pass",
    "accept": "acceptance",
    "commit": "commit, stops, events",
    "other": "text and the rest",
}
_PARTS = {
    "products": "products with weights",
    "attention": "attention",
    "small": "small operations (norms, rotary, copies)",
    "between": "between operations (Python)",
}


def speed_record(llm: LLM, size: PassBytes) -> dict[str, Any]:
    """Measure with the CPU threads that torch is set to now; ready for JSON. The LLM must be idle. Takes some seconds."""
    model = llm.model
    context = max(1, min(CONTEXT, model.facts.context_length - likely_shape(max(NODES)).depth - 1))
    bytes_of_pass = size.total(context)
    bandwidth = read_bandwidth(bytes_of_pass, model.facts.device)
    curve = measure_latency(model, contexts=(context,))
    floor = bandwidth.seconds(bytes_of_pass)
    ids = _prompt_ids(llm)
    tokens = min(_TOKENS, model.facts.context_length - len(ids))
    drafters = dict.fromkeys(["none", llm.drafter])
    steps = [step_profile(llm, ids, drafter=name, tokens=tokens, nodes=nodes_to_profile(llm, name)) for name in drafters]
    return {
        "bandwidth": asdict(bandwidth),
        "context": context,
        "bytes_per_pass": bytes_of_pass,
        "floor_seconds": floor,
        "curve": [asdict(point) for point in curve.points],
        "over_t1": {n: curve.at(n) / curve.at(1) for n in curve.nodes},
        "over_floor": {n: curve.at(n) / floor for n in curve.nodes},
        "steps": [_step_record(profile) for profile in steps],
    }


def nodes_to_profile(llm: LLM, drafter: str) -> int | None:
    """For a budget that learns, the size that decoding begins with: while steps are profiled it should not try others. None for the
    others, which never change their minds."""
    budget = llm.engine.budget(drafter)
    return budget.first_nodes(1) if isinstance(budget, AutomaticBudget) else None


def speed_page(record: dict[str, Any]) -> Iterator[RenderableType]:
    """The same for people."""
    bandwidth, context = record["bandwidth"], record["context"]
    yield (
        f"reading memory  {bandwidth['median'] / 1e9:.1f} GB/s (median of {bandwidth['reads']} reads of"
        f" {bandwidth['nbytes'] / 1e6:.0f} MB; {bandwidth['lowest'] / 1e9:.1f} to {bandwidth['highest'] / 1e9:.1f})"
    )
    yield (
        f"a pass reads    {record['bytes_per_pass'] / 1e6:.1f} MB at {context} positions of context, which takes at least"
        f" {record['floor_seconds'] * 1e3:.2f} ms: the floor of a plain step"
    )
    yield f"\nT(n), a pass over n nodes at {context} positions of context, medians:"
    yield _curve_table(record)
    for step in record["steps"]:
        way = "plain decoding" if step["drafter"] == "none" else f"drafter {step['drafter']}, trees of {step['nodes']} nodes"
        yield f"a decode step, {way}: mean of {step['steps']} steps, {step['tokens_per_step']:.2f} tokens per step"
        yield _step_table(step)


def _curve_table(record: dict[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    for heading in ("n", "ms", "quartiles", "passes", "/ T(1)", "/ floor"):
        table.add_column(heading, justify="right", no_wrap=True)
    for point in record["curve"]:
        n = point["nodes"]
        table.add_row(
            str(n),
            f"{point['median'] * 1e3:.2f}",
            f"{point['q1'] * 1e3:.2f} to {point['q3'] * 1e3:.2f}",
            str(point["passes"]),
            f"{record['over_t1'][n]:.2f}",
            f"{record['over_floor'][n]:.2f}",
        )
    return table


def _step_table(step: dict[str, Any]) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("phase", no_wrap=True)
    table.add_column("ms", justify="right")
    table.add_column("share", justify="right")
    whole = step["seconds"]
    for phase, name in _PHASES.items():
        table.add_row(name, *_time(step["phases"][phase], whole))
        if phase == "verify" and step["verify_shares"] is not None:
            for part, what in _PARTS.items():
                table.add_row(f"  {what}", *_time(step["verify_shares"][part] * step["phases"]["verify"], whole))
    table.add_section()
    table.add_row("step", *_time(whole, whole))
    return table


def _time(seconds: float, whole: float) -> tuple[str, str]:
    return f"{seconds * 1e3:.2f}", f"{seconds / whole:.1%}"


def _step_record(profile: StepProfile) -> dict[str, Any]:
    split = profile.verify
    return {
        "drafter": profile.drafter,
        "nodes": profile.nodes,
        "steps": profile.steps,
        "tokens_per_step": profile.tokens_per_step,
        "seconds": profile.step,
        "phases": profile.phases,
        "draft_share": profile.share("draft"),
        "outside_share": profile.outside,
        "verify_shares": None if split is None else {part: getattr(split, part) / split.total for part in _PARTS},
    }


def _prompt_ids(llm: LLM) -> Sequence[int]:
    """A question in the model's chat format; without one, or where the context is too short for it, a few ids."""
    facts = llm.model.facts
    ids: Sequence[int] = ()
    if llm.tokenizer is not None:
        try:
            ids = llm.tokenizer.chat_ids(_QUESTION)
        except ChatTemplateError:  # a base model: it goes on with the text
            ids = llm.tokenizer.encode(_QUESTION)
    room = facts.context_length - _TOKENS
    if ids and len(ids) <= room:
        return ids
    return [i % facts.vocab_size for i in range(max(1, min(CONTEXT, room, facts.context_length // 2)))]
