"""The whole of the quality part: decode what is missing, judge it, and keep what came out."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from headstart.bench.bar import Bars
from headstart.bench.contestants import PLAIN
from headstart.bench.plan import Setting
from headstart.bench.quality.answers import Answer, Place, answers_of, paired
from headstart.bench.quality.asked import AGREEMENT, CODE, EXACT_MATCH, PERPLEXITY, Asked
from headstart.bench.quality.code_run import without_network
from headstart.bench.quality.likely import agreement, opinions, perplexity
from headstart.bench.quality.ran import Ran, by_base, over_tasks
from headstart.bench.quality.scores import score
from headstart.bench.quality.tasks import Task, read_tasks
from headstart.bench.result import DIGITS, write_whole
from headstart.errors import DataError
from headstart.finite import finite
from headstart.llm import LLM

QUALITY = "quality.json"
_JUDGE = 2
"""Grows when answers are judged otherwise than before."""
BASE = "base"
"""What the base is called beside the contestants where it is a model of its own."""
NOTHING: Mapping[str, Any] = {"base": PLAIN, "base_model": None, "answers": [], "tasks": [], "code_without_network": None}
"""What is found where nothing is asked for."""


def survey(ran: Ran, asked: Asked, load_base: Callable[[], LLM] | None, bar: Bars) -> Mapping[str, Any]:
    """``base``, ``answers`` and ``tasks``, as ``docs/bench.md`` describes them; what was found before is read again.

    Args:
        ran: a run that is done.
        load_base: gives the model to measure against; None is the loaded one, decoded plainly.

    Raises:
        InvalidParameterError: the base reads texts in other tokens.
        DataError: the tasks cannot be read, the directory holds another run, or it cannot be written to.
    """
    kinds = asked.wanted(ran.who)
    if not kinds:
        return NOTHING
    tasks = [task for task in read_tasks(asked.tasks) if task.kind in kinds] if {EXACT_MATCH, CODE} & set(kinds) else []
    mark: dict[str, Any] = {"kinds": list(kinds), "base": asked.base, "tasks": _mark_of([asdict(task) for task in tasks])}
    mark |= {"run": _mark_of(ran.settings), "judge": _JUDGE}
    found = _kept(ran.directory / QUALITY, mark)
    if found is None:
        base = None if load_base is None else load_base()
        found = {"base_model": asked.base, **finite(_surveyed(ran, kinds, tasks, base, bar), DIGITS)}
        write_whole(ran.directory / QUALITY, json.dumps({"mark": mark, "found": found}).encode())
    return found


def _surveyed(ran: Ran, kinds: Sequence[str], tasks: Sequence[Task], base: LLM | None, bar: Bars) -> dict[str, Any]:
    by_kind = {kind: mine for kind in (EXACT_MATCH, CODE) if (mine := [task for task in tasks if task.kind == kind])}
    runs = {kind: over_tasks(ran, kind, mine) for kind, mine in by_kind.items()}
    judged = [kind for kind in (PERPLEXITY, AGREEMENT) if kind in kinds]
    base_runs: dict[str, Ran] = {}
    if base is not None:
        wanted = {**runs, **({"questions": ran} if judged else {})}
        base_runs = {kind: by_base(each, base, ran.directory / f"{BASE}-{kind}") for kind, each in wanted.items()}
    benches = [each.bench for each in (*runs.values(), *base_runs.values())]
    if benches:
        with bar(sum(each.work for each in benches), sum(each.done for each in benches)) as shown:
            for each in benches:
                each.run(shown.advance)
    temperatures = ran.plan.temperatures
    return {
        "base": PLAIN if base is None else BASE,
        "answers": [_answers(ran, base_runs.get("questions"), judged, t) for t in temperatures] if judged else [],
        "tasks": [_tasks(runs, base_runs, by_kind, t) for t in temperatures] if runs else [],
        "code_without_network": bool(without_network()) if CODE in runs else None,
    }


def _answers(ran: Ran, base: Ran | None, judged: Sequence[str], temperature: float) -> dict[str, Any]:
    """What the base thinks of everybody's answers at a temperature, in the smallest batch."""
    setting = Setting(temperature, min(ran.plan.rows))
    found = _written(ran, setting)
    if base is not None:
        found = {BASE: _written(base, setting).get(PLAIN, {}), **found}
    reference = found.get(PLAIN if base is None else BASE, {})
    pairs = {name: both for name, mine in found.items() if (both := paired(mine, reference))}
    opinion = opinions((base or ran).llm.model, [answer for both in pairs.values() for pair in both for answer in pair])
    who = {each.name: each for each in ran.who}
    rows: dict[str, Any] = {}
    for name, both in pairs.items():
        measures: dict[str, Any] = {"texts": len(both)}
        if PERPLEXITY in judged:
            measures[PERPLEXITY] = perplexity(both, opinion)
        if AGREEMENT in judged:
            measures[AGREEMENT] = agreement(
                both, opinion, same_draws=temperature == 0 or name not in who or who[name].follows_noise
            )
        rows[name] = measures
    return {**_head(setting), "contestants": rows}


def _written(ran: Ran, setting: Setting) -> dict[str, dict[Place, Answer]]:
    return answers_of(ran.entries, ran.plan, setting, ran.questions, ran.bench.prompts)


def _tasks(
    runs: Mapping[str, Ran], base_runs: Mapping[str, Ran], tasks: Mapping[str, Sequence[Task]], temperature: float
) -> dict[str, Any]:
    """Scores at a temperature, by contestant and kind; ``left_out`` counts tasks that the context has no room for."""
    setting = Setting(temperature, 1)
    rows: dict[str, dict[str, Any]] = {}
    left_out: dict[str, int] = {}
    for kind, run in runs.items():
        by_key = {task.question.key: task for task in tasks[kind]}
        marks = _marks(run, setting, by_key)
        if kind in base_runs:
            marks = {BASE: _marks(base_runs[kind], setting, by_key).get(PLAIN, {}), **marks}
        reference = marks.get(BASE if kind in base_runs else PLAIN, {})
        left_out[kind] = len(by_key) - len(reference)
        category = {key: task.question.category for key, task in by_key.items()}
        for name, mine in marks.items():
            rows.setdefault(name, {})[kind] = score(mine, reference, category)
    return {**_head(setting), "contestants": rows, "left_out": left_out}


def _marks(run: Ran, setting: Setting, tasks: Mapping[str, Task]) -> dict[str, dict[str, bool]]:
    """By contestant and question. Equal answers are judged once: code takes its time."""
    assert run.llm.tokenizer is not None
    known: dict[tuple[str, str], bool] = {}
    marks: dict[str, dict[str, bool]] = {}
    for unit in run.plan.units(setting, run.questions):
        entry = run.entries[unit.key]
        for name, decoded in entry.runs.items():
            for key, text in zip(entry.prompts, decoded.texts, strict=True):
                answer = run.llm.tokenizer.decode(text.ids)
                if (key, answer) not in known:
                    known[key, answer] = tasks[key].right(answer)
                marks.setdefault(name, {})[key] = known[key, answer]
    return marks


def _head(setting: Setting) -> dict[str, Any]:
    return {"label": setting.label, "temperature": setting.temperature, "batch": setting.rows}


def _mark_of(value: Any) -> str:
    """Tells sets of tasks, and runs, apart."""
    return hashlib.sha256(json.dumps(value, default=str, sort_keys=True).encode()).hexdigest()[:16]


def _kept(path: Path, mark: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where nothing, or something else, was kept."""
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = data["found"] if data["mark"] == mark else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path} is broken ({error!r}); delete it and run the same command again") from error
    if found is not None and not (isinstance(found, dict) and set(found) == set(NOTHING)):
        raise DataError(f"{path} is broken: it lacks something; delete it and run the same command again")
    return found
