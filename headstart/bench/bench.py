"""The run: every batch decoded by every contestant before the next, in an order that rotates."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headstart.bench.contestants import AGAIN, PLAIN, About, Contestant, takes
from headstart.bench.equality import Divergence, divergence
from headstart.bench.interleave import order_of
from headstart.bench.journal import Entry, Journal
from headstart.bench.plan import Plan, Setting, Unit
from headstart.bench.questions import Question
from headstart.errors import DataError, PromptError
from headstart.llm import LLM
from headstart.request import Request
from headstart.sampling.noise import fold

_WARM_UP_TOKENS = 16


class Bench:
    """One run of a plan, or the rest of it.

    Args:
        llm: idle; nobody else may use it meanwhile. torch is set to the threads to measure with.
        who: the contestants of the plan, in its order.
        ways: the same, ready to decode.
    """

    def __init__(
        self,
        llm: LLM,
        plan: Plan,
        questions: Sequence[Question],
        who: Sequence[About],
        ways: Mapping[str, Contestant],
        journal: Journal,
    ) -> None:
        assert [each.name for each in who] == list(plan.contestants)
        assert PLAIN in plan.contestants
        most = max(plan.rows)
        if most > len(questions):
            raise DataError(f"{len(questions)} questions fill no batch of {most}; give more questions or smaller batches")
        self._llm, self._plan, self._questions = llm, plan, questions
        self._who, self._ways, self._journal = who, ways, journal

    @property
    def work(self) -> int:
        """Texts to decode in all, those of the journal included."""
        return sum(len(unit.questions) * len(self._names(unit)) for unit in self._units())

    @property
    def done(self) -> int:
        """Of them, those of the journal."""
        return sum(len(unit.questions) * len(self._names(unit)) for unit in self._units() if unit.key in self._journal.entries)

    def run(self, advance: Callable[[int, str], None] = lambda count, note: None) -> None:
        """Decode whatever the journal does not have. Every batch is kept as soon as all contestants have decoded it.

        ``advance`` is told after each batch how many texts it came to, contestants counted apart, and in which setting.
        """
        warm: set[Setting] = set()
        for unit in self._units():
            if unit.key in self._journal.entries:
                continue
            prompts = self.prompts(unit)
            if isinstance(prompts, str):
                self._journal.add(Entry(unit=unit.key, skipped=prompts))
            else:
                if unit.setting not in warm:
                    self._warm_up(unit, prompts)
                    warm.add(unit.setting)
                self._journal.add(self._entry(unit, prompts))
            advance(len(unit.questions) * len(self._names(unit)), unit.setting.label)

    def _units(self) -> list[Unit]:
        return [unit for setting in self._plan.settings for unit in self._plan.units(setting, self._questions)]

    def _names(self, unit: Unit) -> list[str]:
        names = [each.name for each in self._who if takes(each, unit.setting.rows)]
        return [*names, AGAIN] if self._plan.repeats(unit) else names

    def _entry(self, unit: Unit, prompts: Sequence[list[int]]) -> Entry:
        runs = {name: self._decode(unit, prompts, name, self._plan.max_new_tokens) for name in self._order(unit)}
        margins = {}
        if unit.setting.temperature == 0:  # a draw has no near-ties
            for name, run in runs.items():
                pairs = zip(prompts, runs[PLAIN].texts, run.texts, strict=True)
                parted = [(ids, divergence(plain.ids, text.ids)) for ids, plain, text in pairs]
                found = [self._margin(ids, where) for ids, where in parted if where is not None]
                if found:
                    margins[name] = found
        keys = [self._questions[i].key for i in unit.questions]
        return Entry(unit=unit.key, prompts=keys, runs=runs, margins=margins)

    def _order(self, unit: Unit) -> list[str]:
        """Batches with a repeat and batches without it each go through all orders."""
        every, number = self._plan.repeat_every, unit.number
        if every:
            repeated = number // every
            number = repeated if self._plan.repeats(unit) else number - repeated - 1
        return order_of(self._names(unit), number + unit.turn)

    def _decode(self, unit: Unit, prompts: Sequence[Sequence[int]], name: str, tokens: int) -> Any:
        seeds = [fold(fold(self._plan.seed, question), unit.turn) for question in unit.questions]
        way = self._ways[PLAIN if name == AGAIN else name]
        return way.decode(prompts, max_new_tokens=tokens, temperature=unit.setting.temperature, seeds=seeds)

    def _warm_up(self, unit: Unit, prompts: Sequence[Sequence[int]]) -> None:
        for name in self._names(unit):
            if name != AGAIN:
                self._decode(unit, prompts, name, min(_WARM_UP_TOKENS, self._plan.max_new_tokens))

    def prompts(self, unit: Unit) -> list[list[int]] | str:
        """Ids of each, or why the batch is left out. What was answered before is plain decoding's, for everybody."""
        answers: list[str] = []
        for turn in range(unit.turn):
            entry = self._journal.entries[Unit(unit.setting, unit.number, unit.questions, turn).key]
            if entry.skipped:
                return entry.skipped
            answers.append(self._answer(entry))
        assert self._llm.tokenizer is not None
        prompts = [self._questions[i].ids(self._llm.tokenizer, answers) for i in unit.questions]
        longest, context = max(map(len, prompts)), self._llm.model.facts.context_length
        if longest + self._plan.max_new_tokens > context:
            return f"a prompt of {longest} tokens leaves no room for {self._plan.max_new_tokens} in a context of {context}"
        if not min(map(len, prompts)):
            raise PromptError("a prompt is empty once it is made into tokens; give at least one token")
        return prompts

    def _answer(self, entry: Entry) -> str:
        assert self._llm.tokenizer is not None
        return self._llm.tokenizer.decode(entry.runs[PLAIN].texts[0].ids)

    def _margin(self, prompt: Sequence[int], where: Divergence) -> float | None:
        """How far apart the two likeliest tokens are for the model itself, in logits, where two texts part."""
        engine = self._llm.engine
        number = engine.add(Request(prompt_ids=[*prompt, *where.common], max_new_tokens=1, logprobs=2))
        while engine.has_work:
            for event in engine.step():
                if event.error is not None:
                    raise event.error
                if event.number == number and event.logprobs:
                    (_, first), (_, second) = event.logprobs[0].top
                    return first - second
        return None
