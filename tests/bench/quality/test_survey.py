"""The quality part as a whole, on the model that writes the alphabet."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headstart.bench.contestants import About, Contestant, OurWay, about
from headstart.bench.journal import Journal
from headstart.bench.plan import Plan, mark_of
from headstart.bench.quality.asked import Asked
from headstart.bench.quality.ran import Ran
from headstart.bench.quality.survey import BASE, NOTHING, QUALITY, survey
from headstart.bench.questions import Question
from headstart.bench.run import Run
from headstart.errors import DataError, InvalidParameterError
from headstart.llm import LLM
from headstart.tuning.prompts import Prompt
from tests.tiny_llm import tiny_llm
from tests.tiny_models import alphabet_model, letters_tokenizer, native

TASKS = (
    {
        "question_id": "right",
        "category": "letters",
        "prompt": "v",
        "match": "begins",
        "reference": "wxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
    },
    {"question_id": "wrong", "category": "letters", "prompt": "c", "reference": "c"},
    {"question_id": "code", "category": "code", "prompt": "f", "function": "f", "tests": ["assert f() == 1"]},
)


class Otherwise:
    """Plain decoding whose answers have an "a" (id 3) for their second letter: a lossy rule at its worst."""

    def __init__(self, way: Contestant) -> None:
        self._way = way

    def decode(self, prompts: Sequence[Sequence[int]], **options: Any) -> Run:
        run = self._way.decode(prompts, **options)
        for text in run.texts:
            text.ids[1] = 3
        return run


LOSSY = About(name="ngram+typical", ours=True, drafter="ngram", acceptance="typical", lossy=True)


def ran(llm: LLM, directory: Path, *, temperatures: tuple[float, ...] = (0.0,)) -> Ran:
    """Two questions, one with two turns, answered by the subject, plainly, and by one who writes something else."""
    questions = [
        Question(key=key, category="letters", prompt=Prompt(messages=({"role": "user", "content": key},)), follow_ups=more)
        for key, more in (("a", ("b",)), ("k", ()))
    ]
    who = [about("medusa@4", llm), about("plain", llm), LOSSY]
    ways: dict[str, Contestant] = {each.name: OurWay(llm, each) for each in who[:2]}
    ways[LOSSY.name] = Otherwise(OurWay(llm, who[1]))
    plan = Plan(contestants=tuple(each.name for each in who), max_new_tokens=8, temperatures=temperatures, repeat_every=0)
    settings = {"plan": plan.to_dict(), "questions": mark_of(questions)}
    found = Ran(
        llm=llm, plan=plan, questions=questions, who=who, ways=ways, directory=directory, settings=settings,
        journal=Journal(directory, settings),
    )  # fmt: skip
    found.bench.run()
    return found


class Told:
    """A bar that counts."""

    def __init__(self) -> None:
        self.bars: list[tuple[int, int]] = []
        self.done = 0

    def advance(self, count: int, note: str = "") -> None:
        self.done += count

    @contextmanager
    def __call__(self, total: int, done: int) -> Iterator["Told"]:
        self.bars.append((total, done))
        yield self


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    file = tmp_path / "tasks.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in TASKS))
    return file


def test_against_plain_decoding(tasks: Path, tmp_path: Path) -> None:
    """Answers of 8 letters; the "a" is unexpected, and so is what comes after it: 6 of 8 are first choices."""
    run, bar = ran(tiny_llm(), tmp_path / "out"), Told()
    found = survey(run, Asked(tasks=tasks), None, bar)
    assert (found["base"], found["base_model"]) == ("plain", None)
    (answers,) = found["answers"]
    assert (answers["label"], answers["batch"]) == ("batch 1, temperature 0", 1)
    rows: Mapping[str, Any] = answers["contestants"]
    assert list(rows) == ["medusa@4", "plain", LOSSY.name]
    assert {name: row["texts"] for name, row in rows.items()} == dict.fromkeys(rows, 3)
    for name in ("medusa@4", "plain"):
        assert rows[name]["perplexity"]["of_base"] == {"estimate": 1.0, "low": 1.0, "high": 1.0, "n": 2}
        assert rows[name]["agreement"]["first_choice"]["estimate"] == 1.0
        assert rows[name]["agreement"]["identical"]["estimate"] == 1.0
    other = rows[LOSSY.name]
    assert other["perplexity"]["of_base"]["estimate"] == pytest.approx(7.389, rel=1e-2)  # exp(2 * 8 / 8)
    assert other["agreement"]["first_choice"]["estimate"] == 0.75
    assert (other["agreement"]["identical"]["estimate"], other["agreement"]["common"]["estimate"]) == (0.0, 0.125)

    # after "v" comes "wxyzA...", and "wayzA..." is not right; nobody answers "c" with "c" or writes code
    (solved,) = found["tasks"]
    scores = {name: row["exact-match"] for name, row in solved["contestants"].items()}
    assert {name: (row["by_category"], row["gained"], row["lost"]) for name, row in scores.items()} == {
        "medusa@4": ({"letters": [1, 2]}, 0, 0), "plain": ({"letters": [1, 2]}, 0, 0), LOSSY.name: ({"letters": [0, 2]}, 0, 1),
    }  # fmt: skip
    assert solved["contestants"]["plain"]["code"]["right"]["estimate"] == 0.0
    assert solved["left_out"] == {"exact-match": 0, "code": 0}
    assert bar.bars == [(3 * 2 + 3, 0)]
    assert bar.done == 9
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"runs.jsonl", QUALITY, "exact-match", "code"}
    assert survey(run, Asked(tasks=tasks), None, bar) == found  # read again
    assert bar.done == 9
    assert survey(run, Asked(kinds="exact-match", tasks=tasks), None, bar)["answers"] == []
    assert bar.bars[1:] == [(6, 6)]  # judged anew, and nothing decoded


def test_gained(tmp_path: Path) -> None:
    """Where "wayzA..." is right, the lossy one alone is."""
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text(json.dumps({**TASKS[0], "reference": "wayzABCDEFGHIJKLMNOPQRSTUVWXYZ"}) + "\n")
    found = survey(ran(tiny_llm(), tmp_path / "out"), Asked(kinds="exact-match", tasks=tasks), None, Told())
    assert found["answers"] == []
    rows = {name: row["exact-match"] for name, row in found["tasks"][0]["contestants"].items()}
    assert {name: (row["right"]["estimate"], row["gained"], row["lost"]) for name, row in rows.items()} == {
        "medusa@4": (0.0, 0, 0), "plain": (0.0, 0, 0), LOSSY.name: (1.0, 1, 0),
    }  # fmt: skip
    assert rows[LOSSY.name]["more_than_base"]["estimate"] == 1.0


def test_against_another_model(tasks: Path, tmp_path: Path) -> None:
    """A base that is half as sure of the same letters: a logit of 4, and its own answers are the same."""
    run = ran(tiny_llm(), tmp_path / "out")
    asked = Asked(kinds="perplexity,agreement,exact-match", tasks=tasks, base="half as sure")
    bar = Told()
    found = survey(run, asked, lambda: tiny_llm(sharpness=0.5, heads=False), bar)
    assert (found["base"], found["base_model"]) == (BASE, "half as sure")
    rows = found["answers"][0]["contestants"]
    assert list(rows) == [BASE, "medusa@4", "plain", LOSSY.name]
    assert rows[BASE]["texts"] == rows["medusa@4"]["texts"] == 2  # first turns
    assert rows[BASE]["perplexity"]["perplexity"]["estimate"] == pytest.approx(1 + 63 / 54.6, rel=2e-2)  # 1 + 63 exp(-4)
    assert rows["medusa@4"]["agreement"]["identical"]["estimate"] == 1.0
    assert rows[LOSSY.name]["perplexity"]["of_base"]["estimate"] == pytest.approx(2.718, rel=1e-2)  # exp(2 * 4 / 8)
    assert list(found["tasks"][0]["contestants"]) == [BASE, "medusa@4", "plain", LOSSY.name]
    assert bar.bars == [(3 * 2 + 2 + 2, 0)]


def test_a_task_that_does_not_fit(tmp_path: Path) -> None:
    """The context has 128 positions, half of them for the answer."""
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text("".join(json.dumps({"prompt": "a" * length, "reference": "b"}) + "\n" for length in (1, 80)))
    found = survey(ran(tiny_llm(), tmp_path / "out"), Asked(kinds="exact-match", tasks=tasks), None, Told())
    assert found["tasks"][0]["left_out"] == {"exact-match": 1}
    assert found["tasks"][0]["contestants"]["plain"]["exact-match"]["right"]["n"] == 1


def test_a_base_with_other_tokens(tasks: Path, tmp_path: Path) -> None:
    run = ran(tiny_llm(), tmp_path / "out")
    other = letters_tokenizer("<s><s>{% for m in messages %}{{ m.content }}{% endfor %}")
    with pytest.raises(InvalidParameterError, match="reads the questions in other tokens"):
        survey(run, Asked(tasks=tasks, base="other"), lambda: LLM(native(alphabet_model()), other), Told())


def test_above_temperature_0(tasks: Path, tmp_path: Path) -> None:
    """Medusa's text is drawn by the same noise as plain decoding's, so it is the same one."""
    run = ran(tiny_llm(sharpness=0.5), tmp_path / "out", temperatures=(0.0, 1.0))
    found = survey(run, Asked(kinds="agreement", tasks=tasks), None, Told())
    greedy, drawn = found["answers"]
    assert (greedy["temperature"], drawn["temperature"], found["tasks"]) == (0.0, 1.0, [])
    assert drawn["contestants"]["medusa@4"]["agreement"]["identical"]["estimate"] == 1.0
    first = drawn["contestants"]["plain"]["agreement"]["first_choice"]["estimate"]
    assert 0.1 < first < 0.9  # a logit of 4 against 63 of 0: about half of the draws are first choices
    assert "perplexity" not in drawn["contestants"]["plain"]


def test_nothing_asked(tmp_path: Path) -> None:
    run = ran(tiny_llm(), tmp_path / "out")
    assert survey(run, Asked(kinds="none"), None, Told()) == NOTHING
    assert not (tmp_path / "out" / QUALITY).exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"mark": %s}', '{"mark": %s, "found": {}}'])
def test_a_broken_file(content: str, tasks: Path, tmp_path: Path) -> None:
    run = ran(tiny_llm(), tmp_path / "out")
    survey(run, Asked(kinds="agreement"), None, Told())
    kept = tmp_path / "out" / QUALITY
    mark = json.dumps(json.loads(kept.read_text())["mark"])
    kept.write_text(content % mark if "%" in content else content)
    with pytest.raises(DataError, match="is broken"):
        survey(run, Asked(kinds="agreement"), None, Told())


def test_what_was_found_of_another_run_is_not_read(tasks: Path, tmp_path: Path) -> None:
    """The journal was deleted to measure another plan into the same directory."""
    asked = Asked(tasks=tasks)
    survey(ran(tiny_llm(), tmp_path / "out"), asked, None, Told())
    before = (tmp_path / "out" / QUALITY).read_text()
    (tmp_path / "out" / "runs.jsonl").unlink()
    for kind in ("exact-match", "code"):
        (tmp_path / "out" / kind / "runs.jsonl").unlink()
    found = survey(ran(tiny_llm(), tmp_path / "out", temperatures=(1.0,)), asked, None, Told())
    assert [row["label"] for row in found["answers"]] == ["batch 1, temperature 1"]
    assert (tmp_path / "out" / QUALITY).read_text() != before
