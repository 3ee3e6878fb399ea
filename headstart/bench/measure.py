"""The whole of ``headstart bench``: measure what is missing, then write result, report and pictures."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headstart.bench.assembly import Measured, assemble
from headstart.bench.bar import Bars
from headstart.bench.bench import Bench
from headstart.bench.contestants import DRAFT_MODEL, PLAIN, About, Contestant, about, contestants
from headstart.bench.environment import environment
from headstart.bench.journal import Journal
from headstart.bench.plan import Plan, mark_of
from headstart.bench.plots import pictures
from headstart.bench.quality.asked import NONE, Asked
from headstart.bench.quality.ran import Ran
from headstart.bench.quality.survey import survey
from headstart.bench.quality.tasks import read_tasks
from headstart.bench.questions import Question
from headstart.bench.report_html import report_html
from headstart.bench.result import RESULT, write_result, write_whole
from headstart.bench.split import StepSplit, step_split
from headstart.bench.watched import Watched
from headstart.drafters.tuned import heads_mark
from headstart.errors import InvalidParameterError
from headstart.llm import LLM
from headstart.models.conditions import Conditions
from headstart.tuning.pass_split import pass_split

REPORT = "report.html"
_SPLIT_TOKENS = 32
_TREE_NODES = 32


def measure(
    llm: LLM,
    plan: Plan,
    questions: Sequence[Question],
    *,
    model: str,
    prompts: str,
    directory: Path,
    price_per_hour: float | None = None,
    bar: Bars,
    quality: Asked | None = None,
    load_base: Callable[[], LLM] | None = None,
) -> dict[str, Any]:
    """Run the plan, or what is left of it, with the CPU threads that torch is set to now, and write everything.

    Args:
        model: what the LLM was loaded from; transformers' contestants load it again.
        prompts: what the questions are called.
        directory: gets ``result.json``, ``report.html`` and the PNGs, and keeps ``runs.jsonl`` and ``watched.json``.
        bar: makes a bar of so many texts, some of which are done.
        quality: what to measure of the answers besides their equality; None is nothing.
        load_base: gives the model that answers are measured against; None is ``llm``, decoded plainly.

    Raises:
        InvalidParameterError: an unknown contestant, a batch that the cache has no room for, or no tokenizer.
        DataError: too few questions, or a directory that cannot be written to or holds another run.
    """
    if llm.tokenizer is None:
        raise InvalidParameterError(f"{model} came without a tokenizer, and questions are texts; put one beside the model")
    if max(plan.rows) > llm.model.cache.max_rows:
        raise InvalidParameterError(
            f"batch {max(plan.rows)} is more than the {llm.model.cache.max_rows} rows of the cache; take smaller batches"
        )
    who = [about(name, llm) for name in plan.contestants]
    plan = replace(plan, contestants=tuple(each.name for each in who))
    if PLAIN not in plan.contestants:
        who.append(about(PLAIN, llm))
        plan = replace(plan, contestants=(*plan.contestants, PLAIN))
    quality = quality or Asked(kinds=NONE)
    if quality.wanted(who):
        read_tasks(quality.tasks)  # a mistake in the file is told before everything is decoded
    conditions = Conditions.of(llm.model).to_dict()
    where = environment(llm)
    versions = {name: where[name] for name in ("transformers", "headstart")}
    heads = None if llm.heads is None else heads_mark(llm.heads.heads)
    settings = {"plan": plan.to_dict(), "questions": mark_of(questions), "heads": heads, **conditions, **versions}
    journal = Journal(directory, settings, where["code"])
    ways = contestants(llm, who, model)
    bench = Bench(llm, plan, questions, who, ways, journal)
    if bench.done < bench.work:
        journal.require_same_code()
    watched = Watched.read(directory) if bench.done == bench.work else None
    with bar(bench.work, bench.done) as shown:
        bench.run(shown.advance)
        if watched is None:
            shown.advance(0, "watching single steps")
            watched = Watched(where, _splits(llm, plan, questions, who, ways)).kept(directory)
    ran = Ran(llm=llm, plan=plan, questions=questions, who=who, ways=ways, directory=directory, settings=settings, journal=journal)
    result = assemble(
        Measured(
            plan=plan,
            who=who,
            questions=questions,
            entries=journal.entries,
            environment={**watched.environment, "prompts": prompts, "seed": plan.seed},
            splits=watched.splits,
            tree=_tree(llm),
            price_per_hour=price_per_hour,
            quality=survey(ran, quality, load_base, bar),
        )
    )
    write_report(result, directory)
    return result


def write_report(result: dict[str, Any], directory: Path) -> None:
    """``result.json``, ``report.html`` and the pictures."""
    drawn = pictures(result)
    write_result(result, directory / RESULT)
    for name, data in drawn.items():
        write_whole(directory / name, data)
    write_whole(directory / REPORT, report_html(result, drawn).encode())


def _splits(
    llm: LLM, plan: Plan, questions: Sequence[Question], who: Sequence[About], ways: dict[str, Contestant]
) -> dict[str, StepSplit]:
    """One text of each of our contestants, decoded under watch."""
    assert llm.tokenizer is not None
    tokens = min(_SPLIT_TOKENS, plan.max_new_tokens)
    prompt = min((question.ids(llm.tokenizer, ()) for question in questions), key=len)
    if len(prompt) + tokens > llm.model.facts.context_length:
        return {}
    found = {}
    for each in (each for each in who if each.ours):
        way = ways[each.name]

        def decode(way: Contestant = way) -> Any:
            return way.decode([prompt], max_new_tokens=tokens, temperature=plan.temperatures[0], seeds=[plan.seed])

        (text,) = decode().texts
        if text.steps:
            nodes = 1 + round(text.proposed / text.steps)
            found[each.name] = step_split(decode, pass_split(llm.model, nodes=nodes, context=len(prompt) + tokens // 2))
    return found


def _tree(llm: LLM) -> dict[str, Any] | None:
    """The best nodes of the heads' static tree, the recommended number of them but at least a few to look at."""
    if llm.heads is None or not llm.heads.total:
        return None
    heads = llm.heads
    shape = heads.tree.limited(nodes=min(len(heads.tree), max(heads.nodes, _TREE_NODES)))
    shares = [heads.counts.get(path, 0) / heads.total for path in shape.paths]
    return {"parent": list(shape.parent_N), "share": [1.0, *shares], "nodes": heads.nodes}


def draft_models(names: Sequence[str]) -> list[str]:
    """The directories of draft models among the contestants; at most one can be loaded."""
    found = [name.partition(":")[2].partition("+")[0].partition("@")[0] for name in names if name.startswith(f"{DRAFT_MODEL}:")]
    if len(set(found)) > 1:
        raise InvalidParameterError(f"draft models {', '.join(found)}; a run takes one. Bench the others into outputs of their own")
    return sorted(set(found))
