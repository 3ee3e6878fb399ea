"""Which tasks a model solves when it is asked once, greedily."""

from collections.abc import Sequence

from headstart.bench.quality.asked import CODE
from headstart.bench.quality.code_run import can_limit
from headstart.bench.quality.tasks import ANSWER_TOKENS, Task
from headstart.llm import LLM


def solved(llm: LLM, tasks: Sequence[Task]) -> dict[str, dict[str, bool]]:
    """By kind of task and by its question's key: whether the answer is right. Code that the model writes is run, within limits
    (``code_run.py``), or not asked for where the system has no limits. Tasks that its context has no room for are left out, all
    of them where there is no tokenizer."""
    if llm.tokenizer is None:
        return {}
    marks: dict[str, dict[str, bool]] = {}
    kinds = {kind: tokens for kind, tokens in ANSWER_TOKENS.items() if kind != CODE or can_limit()}
    for kind, tokens in kinds.items():
        asked = [(task, task.question.ids(llm.tokenizer, [])) for task in tasks if task.kind == kind]
        asked = [(task, ids) for task, ids in asked if 0 < len(ids) <= llm.model.facts.context_length - tokens]
        if asked:
            outs = llm.generate([ids for _, ids in asked], max_new_tokens=tokens, temperature=0.0)
            marks[kind] = {task.question.key: task.right(out.text) for (task, _), out in zip(asked, outs, strict=True)}
    return marks
