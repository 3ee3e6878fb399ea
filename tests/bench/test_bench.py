"""Whole runs on the model that writes the alphabet: interleaved, resumed, and what they say."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headstart.bench.assembly import Measured, assemble
from headstart.bench.bench import Bench
from headstart.bench.contestants import AGAIN, Contestant, OurWay, about
from headstart.bench.journal import Journal
from headstart.bench.plan import Plan
from headstart.bench.questions import Question
from headstart.bench.run import Run
from headstart.errors import DataError
from headstart.llm import LLM
from headstart.tuning.prompts import Prompt
from tests.tiny_llm import tiny_llm

PLAN = Plan(contestants=("medusa@4", "plain", "ngram"), rows=(1, 2), max_new_tokens=9, repeat_every=2)


def ask(*turns: str) -> Question:
    first, *more = turns
    prompt = Prompt(messages=({"role": "user", "content": first},))
    return Question(key=first, category="letters", prompt=prompt, follow_ups=tuple(more))


QUESTIONS = [ask("a", "b"), ask("c"), ask("k"), ask("m")]


class Watched:
    """A contestant that notes what it is asked, and may be killed after some batches."""

    def __init__(self, name: str, way: Contestant, asked: list[tuple[str, int, int]], lives: list[int]) -> None:
        self._name, self._way, self._asked, self._lives = name, way, asked, lives

    def decode(self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int, temperature: float, seeds: Sequence[int]) -> Run:
        self._lives[0] -= 1
        if self._lives[0] < 0:
            raise KeyboardInterrupt
        self._asked.append((self._name, len(prompts), len(prompts[0])))
        return self._way.decode(prompts, max_new_tokens=max_new_tokens, temperature=temperature, seeds=seeds)


def bench(
    llm: LLM, directory: Path, asked: list[tuple[str, int, int]], lives: int = 1000, questions: Sequence[Question] = QUESTIONS
) -> tuple[Bench, Journal]:
    who = [about(name, llm) for name in PLAN.contestants]
    left = [lives]
    ways = {each.name: Watched(each.name, OurWay(llm, each), asked, left) for each in who}
    journal = Journal(directory, {})
    return Bench(llm, PLAN, questions, who, ways, journal), journal


def test_a_run(tmp_path: Path) -> None:
    asked: list[tuple[str, int, int]] = []
    told: list[int] = []
    run, journal = bench(tiny_llm(), tmp_path, asked)
    # five turns and three more plain ones (of "a" both turns, of "k" one); two batches of two, the first one again
    assert (run.work, run.done) == (3 * 5 + 3 + 2 * (3 * 2) + 2, 0)
    run.run(lambda count, note: told.append(count))
    assert sum(told) == run.work == run.done
    assert list(journal.entries) == ["t0 b1 0.0", "t0 b1 0.1", "t0 b1 1.0", "t0 b1 2.0", "t0 b1 3.0", "t0 b2 0.0", "t0 b2 1.0"]
    assert [sorted(entry.runs) for entry in journal.entries.values()] == [
        sorted([*PLAN.contestants, AGAIN] if again else PLAN.contestants) for again in (1, 1, 0, 1, 0, 1, 0)
    ]
    # the second turn's prompt is <s>, "a", the nine letters of the answer, "b", for everybody
    second = journal.entries["t0 b1 0.1"]
    assert {text.prompt_tokens for each in second.runs.values() for text in each.texts} == {12}
    assert len({tuple(entry.runs) for entry in journal.entries.values()}) > 2  # turns rotate
    texts = {tuple(text.ids) for each in second.runs.values() for text in each.texts}
    assert len(texts) == 1
    assert all(not entry.margins for entry in journal.entries.values())  # nobody wrote another text


@pytest.mark.parametrize("lives", [5, 20])
def test_a_run_that_was_killed_goes_on(lives: int, tmp_path: Path) -> None:
    """At whatever batch it dies, what was whole is not decoded again, and in the end everything is there once."""
    asked: list[tuple[str, int, int]] = []
    killed, _ = bench(tiny_llm(), tmp_path, asked, lives)
    with pytest.raises(KeyboardInterrupt):
        killed.run()
    kept = dict(Journal(tmp_path, {}).entries)
    asked.clear()
    again, journal = bench(tiny_llm(), tmp_path, asked)
    left = again.work - again.done
    again.run()
    warm_up = sum(rows for name, rows, _ in asked) - left
    assert warm_up in (3 + 6, 6)  # each contestant's first batch of a setting that was not done does not count
    assert {key: journal.entries[key] for key in kept} == kept
    whole, all_entries = bench(tiny_llm(), tmp_path / "whole", [])
    whole.run()
    assert list(journal.entries) == list(all_entries.entries)
    ids = [
        {(key, name): [text.ids for text in run.texts] for key, entry in each.entries.items() for name, run in entry.runs.items()}
        for each in (journal, all_entries)
    ]
    assert ids[0] == ids[1]


def result_of(journal: Journal, llm: LLM, questions: Sequence[Question] = QUESTIONS) -> dict[str, Any]:
    who = [about(name, llm) for name in PLAN.contestants]
    return assemble(Measured(plan=PLAN, who=who, questions=questions, entries=journal.entries, environment={"dtype": "float64"}))


def test_what_it_says(tmp_path: Path) -> None:
    llm = tiny_llm()
    run, journal = bench(llm, tmp_path, [])
    run.run()
    found = result_of(journal, llm)
    alone, together = found["acceptance"]["settings"]
    # heads that are always right, a chain of four: 8 tokens after the first take two steps; texts stop nowhere near </s>
    assert alone["contestants"]["medusa@4"]["tokens_per_step"]["estimate"] == 4.0
    assert together["contestants"]["medusa@4"]["histogram"] == [0, 0, 0, 8]
    for row in found["quality"]["equality"]:
        assert {name: (c["texts"], c["equal"]) for name, c in row["contestants"].items()} == {
            "medusa@4": (5, 5) if row["batch"] == 1 else (4, 4),
            "ngram": (5, 5) if row["batch"] == 1 else (4, 4),
            AGAIN: (3, 3) if row["batch"] == 1 else (2, 2),
        }
        assert row["same_in_batches"] == {"texts": 4, "equal": 4}
    assert [row["noise"]["repeats"] for row in found["latency"]["settings"]] == [2, 1]
    assert found == result_of(journal, llm)


def test_a_question_that_does_not_fit(tmp_path: Path) -> None:
    """The context has 128 positions."""
    llm = tiny_llm()
    questions = [ask("a" * 125, "b"), ask("c")]
    run, journal = bench(llm, tmp_path, [], questions=questions)
    run.run()
    assert journal.entries["t0 b1 0.0"].skipped == journal.entries["t0 b1 0.1"].skipped
    assert "a prompt of 126 tokens leaves no room for 9" in journal.entries["t0 b1 0.0"].skipped
    assert journal.entries["t0 b2 0.0"].skipped
    found = result_of(journal, llm, questions)
    assert found["latency"]["settings"][0]["left_out"]["skipped"] == 2
    assert found["latency"]["settings"][1]["contestants"] == {}


def test_too_few_questions_for_a_batch(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1 questions fill no batch of 2"):
        bench(tiny_llm(), tmp_path, [], questions=QUESTIONS[:1])


class Liar:
    """Writes plain decoding's text with another third token."""

    def __init__(self, way: Contestant) -> None:
        self._way = way

    def decode(self, prompts: Sequence[Sequence[int]], **options: Any) -> Run:
        run = self._way.decode(prompts, **options)
        for text in run.texts:
            text.ids[2] = 5
        return run


def test_the_margin_where_texts_part(tmp_path: Path) -> None:
    """The alphabet model gives the next letter a logit of 8 and all others 0."""
    llm = tiny_llm()
    plan = Plan(contestants=("ngram", "plain"), max_new_tokens=9, repeat_every=0)
    who = [about(name, llm) for name in plan.contestants]
    ways: dict[str, Contestant] = {"plain": OurWay(llm, who[1]), "ngram": Liar(OurWay(llm, who[0]))}
    journal = Journal(tmp_path, {})
    Bench(llm, plan, [ask("a"), ask("k")], who, ways, journal).run()
    assert [entry.margins["ngram"] for entry in journal.entries.values()] == [[pytest.approx(8, abs=0.01)]] * 2
    found = assemble(Measured(plan=plan, who=who, questions=[ask("a"), ask("k")], entries=journal.entries, environment={}))
    same = found["quality"]["equality"][0]["contestants"]["ngram"]
    assert (same["equal"], same["texts"], same["largest_margin"], same["near_ties"]) == (0, 2, pytest.approx(8, abs=0.01), 0)
    assert [each["at"] for each in same["divergences"]] == [2, 2]
