"""Runs to judge: the one that was timed, those over tasks, and the base's, each with its own journal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from headstart.acceptance.walk import Exact
from headstart.bench.bench import Bench
from headstart.bench.contestants import PLAIN, About, Contestant, OurWay, about
from headstart.bench.journal import Entry, Journal
from headstart.bench.plan import Plan, mark_of
from headstart.bench.quality.tasks import ANSWER_TOKENS, Task
from headstart.bench.questions import Question
from headstart.errors import InvalidParameterError
from headstart.llm import LLM
from headstart.models.conditions import Conditions


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run, done or to be done."""

    llm: LLM
    plan: Plan
    questions: Sequence[Question]
    who: Sequence[About]
    ways: Mapping[str, Contestant]
    directory: Path
    """Holds its journal."""
    settings: Mapping[str, Any]
    """What its texts depend on, besides plan and questions."""
    journal: Journal

    @property
    def bench(self) -> Bench:
        return Bench(self.llm, self.plan, self.questions, self.who, self.ways, self.journal)

    @property
    def entries(self) -> Mapping[str, Entry]:
        return self.journal.entries


def over_tasks(ran: Ran, kind: str, tasks: Sequence[Task]) -> Ran:
    """The tasks, one at a time, by plain decoding, the subject, and whoever may write another text than the model's own."""
    who = [each for each in ran.who if each.name in (PLAIN, ran.plan.subject) or (each.ours and each.acceptance != Exact.name)]
    plan = replace(
        ran.plan,
        contestants=tuple(each.name for each in who),
        rows=(1,),
        max_new_tokens=max(2, min(ANSWER_TOKENS[kind], ran.llm.model.facts.context_length // 2)),
        repeat_every=0,
    )
    questions = [task.question for task in tasks]
    return _run(ran.llm, plan, questions, who, ran.ways, ran.directory / kind, ran.settings)


def by_base(ran: Ran, base: LLM, directory: Path) -> Ran:
    """The first turns of a run, in its smallest batch, decoded plainly by the base; ``directory`` gets the journal.

    Raises:
        InvalidParameterError: it reads texts in other tokens.
    """
    assert ran.llm.tokenizer is not None
    questions = [replace(question, follow_ups=()) for question in ran.questions]
    same = base.tokenizer is not None and all(
        question.ids(ran.llm.tokenizer, ()) == question.ids(base.tokenizer, ()) for question in questions
    )
    if not same:
        raise InvalidParameterError(
            f"the base {base.model.facts.name} reads the questions in other tokens than {ran.llm.model.facts.name}; expected the"
            " model that it was made from, with the same tokenizer and chat template"
        )
    facts = about(PLAIN, base)
    plan = replace(ran.plan, contestants=(PLAIN,), rows=(min(ran.plan.rows),), repeat_every=0)
    settings = {**ran.settings, **Conditions.of(base.model).to_dict(), "heads": None}
    return _run(base, plan, questions, [facts], {PLAIN: OurWay(base, facts)}, directory, settings)


def _run(
    llm: LLM,
    plan: Plan,
    questions: Sequence[Question],
    who: Sequence[About],
    ways: Mapping[str, Contestant],
    directory: Path,
    settings: Mapping[str, Any],
) -> Ran:
    journal = Journal(directory, {**settings, "plan": plan.to_dict(), "questions": mark_of(questions)})
    return Ran(llm=llm, plan=plan, questions=questions, who=who, ways=ways, directory=directory, settings=settings, journal=journal)
