"""A whole tuning run on a tiny model, with times that are made up."""

from collections.abc import Sequence
from typing import Any

import pytest

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.tuned import heads_mark
from headstart.errors import DataError, HeadsError, InvalidParameterError
from headstart.sampling.params import SamplingParams
from headstart.trees.shape import TreeShape
from headstart.tuning import observe as observing
from headstart.tuning import tune as tuning
from headstart.tuning.latency import Point
from headstart.tuning.tune import Tuning
from headstart.tuning.tune_options import TuneOptions
from headstart.tuning.tune_result import TuneResult
from tests.tiny_models import LETTERS, alphabet_heads, alphabet_model, letter_ids, native, noise_heads, noise_mtp_heads

PROMPTS = [letter_ids(letter) for letter in LETTERS[:12]]


def made_up(cost: float) -> Any:
    """Steps that take 10 and ``cost`` for each node of each text, without measuring."""

    def steps(_model: object, _drafter: object, _prompts: object, *, sizes: Sequence[int], rows: int, **_: object) -> list[Point]:
        times = [(size, 10.0 + cost * (size - 1) * rows) for size in sizes]
        return [Point(nodes=n, rows=rows, context=50, median=t, q1=t, q3=t, passes=5) for n, t in times]

    return steps


def run(monkeypatch: pytest.MonkeyPatch, cost: float, **options: Any) -> tuple[TuneResult, HeadsDirectory]:
    monkeypatch.setattr(observing, "LEAST_POSITIONS", 50)
    monkeypatch.setattr(tuning, "measure_steps", made_up(cost))
    model = native(alphabet_model())
    heads = alphabet_heads(model)
    settings = TuneOptions(**{"batch": (1, 4), "max_nodes": 8, "tokens": 17, "quick": True, **options})
    run = Tuning(model, heads, PROMPTS, options=settings, source="letters")
    result = run.check(run.choose())
    assert model.cache.rows == 0
    return result, heads


def test_what_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three heads, always right: 2 nodes give 2 tokens, 4 give 4, and 8 no more. A node costs a tenth of a step."""
    result, heads = run(monkeypatch, 1.0)
    table = result.table
    assert table.nodes_N == (1, 2, 4, 8)
    assert table.tokens_N == (1.0, 2.0, 4.0, 4.0)
    assert table.seconds_RN == ((10.0, 11.0, 13.0, 17.0), (10.0, 14.0, 22.0, 38.0))
    # one text: 4 * 10 / 13; four: 4 * 10 / 22 = 1.82 against 2 * 10 / 14 = 1.43
    assert result.tuned.chosen("medusa") == {1: 4, 4: 4}
    file = result.tree_file
    assert (file.nodes, file.tree.paths) == (4, ((0,), (0, 0), (0, 0, 0)))
    assert file.tuned == result.tuned
    assert result.tuned.heads == heads_mark(heads.heads)
    assert file.total == 6 * 16
    assert (result.tuned.observed["prompts"], result.tuned.observed["texts"]) == ("letters", 6)
    assert [point["nodes"] for point in result.tuned.passes[:4]] == [1, 2, 4, 8]


def test_what_was_predicted_is_what_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = run(monkeypatch, 1.0)
    assert [(each.rows, each.nodes, each.same_texts) for each in result.verified] == [(1, 4, 6), (4, 4, 4)]
    for each in result.verified:
        assert each.predicted_tokens == each.measured_tokens == 4.0
    assert result.verified[0].predicted_speedup == pytest.approx(40 / 13)
    assert result.tree_file.tuned is not None
    assert result.tree_file.tuned.verified[0]["measured_tokens"] == 4.0


def test_nothing_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node takes as long as a whole step: plain decoding, and the user is told."""
    result, heads = run(monkeypatch, 40.0)
    assert result.tuned.chosen("medusa") == {1: 1, 4: 1}
    assert (
        result.tree_file.nodes == min(heads.nodes, len(result.tree_file.tree)) > 1
    )  # what other machines are told is left as it was
    assert result.verified == ()
    assert result.notes[-1] == "plain decoding is fastest with 1, 4 text(s) at once: no tree gains on it by 3 %"


def test_a_batch_that_the_prompts_do_not_fill(monkeypatch: pytest.MonkeyPatch) -> None:
    result, _ = run(monkeypatch, 0.1, batch=(8,))
    assert result.verified == ()
    assert "not verified for 8 texts at once: only 6 prompts" in result.notes[-1]


def test_times_that_spread_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def noisy(*_: object, sizes: Sequence[int], rows: int, **__: object) -> list[Point]:
        return [Point(nodes=n, rows=rows, context=9, median=10.0, q1=8.0, q3=13.0, passes=5) for n in sizes]

    monkeypatch.setattr(observing, "LEAST_POSITIONS", 50)
    monkeypatch.setattr(tuning, "measure_steps", noisy)
    model = native(alphabet_model())
    options = TuneOptions(batch=(1,), max_nodes=4, tokens=17, quick=True)
    result = Tuning(model, alphabet_heads(model), PROMPTS, options=options).choose()
    assert "times spread by 50% between quartiles" in result.notes[0]


def test_a_tree_of_other_heads_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever lies in the old file, all of the new one is learned from these heads."""
    monkeypatch.setattr(observing, "LEAST_POSITIONS", 50)
    monkeypatch.setattr(tuning, "measure_steps", made_up(1.0))
    model = native(alphabet_model())
    foreign = alphabet_heads(model, tree=TreeShape([[9], [9, 9]]))
    result = Tuning(model, foreign, PROMPTS, options=TuneOptions(batch=(1,), max_nodes=4, tokens=17, quick=True)).choose()
    assert result.tree_file.tree.paths == ((0,), (0, 0), (0, 0, 0))


def test_a_batch_without_room_is_refused_before_anything_is_observed() -> None:
    model = native(alphabet_model(), max_rows=2)
    said: list[str] = []
    run = Tuning(model, alphabet_heads(model), PROMPTS, options=TuneOptions(batch=(1, 4), tokens=17), say=said.append)
    with pytest.raises(InvalidParameterError, match="4 rows with prompts of up to 1 tokens"):
        run.choose()
    assert said == []


def test_steps_are_timed_at_the_temperature_of_the_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise for drafts and draws takes time, which greedy steps would not show."""
    asked: list[SamplingParams] = []

    def noted(*given: object, params: SamplingParams, **options: Any) -> list[Point]:
        asked.append(params)
        return made_up(1.0)(*given, **options)  # type: ignore[no-any-return]

    monkeypatch.setattr(observing, "LEAST_POSITIONS", 50)
    monkeypatch.setattr(tuning, "measure_steps", noted)
    model = native(alphabet_model())
    options = TuneOptions(batch=(1, 2), max_nodes=4, tokens=17, temperature=0.7, quick=True)
    Tuning(model, alphabet_heads(model), PROMPTS, options=options).choose()
    assert asked == [SamplingParams(temperature=0.7)] * 2


def test_texts_that_end_at_once_are_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any letter ends a text, so that those of the half that was kept back have one token: nothing to compare, and it is said."""
    monkeypatch.setattr(observing, "LEAST_POSITIONS", 50)
    monkeypatch.setattr(tuning, "measure_steps", made_up(1.0))
    model = native(alphabet_model())
    options = TuneOptions(batch=(1, 2), max_nodes=4, tokens=17, quick=True)
    run = Tuning(model, alphabet_heads(model), PROMPTS, options=options)
    result = run.choose()
    run._stop_ids = frozenset(letter_ids(LETTERS))
    checked = run.check(result)
    assert checked.verified == ()
    assert [note[:32] for note in checked.notes[-2:]] == ["not verified for 1 texts at once", "not verified for 2 texts at once"]


def test_a_single_text_says_how_little_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """One text to learn from has no spread: the error is unknown, and not zero."""
    monkeypatch.setattr(observing, "LEAST_POSITIONS", 10)
    monkeypatch.setattr(tuning, "measure_steps", made_up(1.0))
    model = native(alphabet_model())
    options = TuneOptions(batch=(1,), max_nodes=4, tokens=17, quick=True)
    result = Tuning(model, alphabet_heads(model), PROMPTS[:2], options=options).choose()
    assert result.notes == ("few texts: tokens per step at 4 nodes are 4.00, from one text. More or longer prompts make it surer",)
    assert result.tuned.observed["standard_error"] == [None, None, None]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_nodes": 1}, "max_nodes is 1; expected at least 2"),
        ({"max_nodes": 257}, "at most 256"),
        ({"batch": ()}, "expected numbers of texts"),
        ({"batch": (0, 1)}, "expected numbers of texts"),
        ({"tokens": 1}, "tokens is 1; expected at least 2"),
    ],
)
def test_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        TuneOptions(**options)


@pytest.mark.parametrize(
    ("kind", "reason"), [("hydra", "each reads the guesses before its own"), ("mtp", "they read the states before the last layer")]
)
def test_heads_that_are_not_observed_are_refused(kind: str, reason: str) -> None:
    model = native(alphabet_model())
    heads = noise_mtp_heads(model) if kind == "mtp" else noise_heads(model, kind=kind)
    with pytest.raises(HeadsError, match=f"{kind} heads are not tuned yet: {reason}.*nodes="):
        Tuning(model, HeadsDirectory(heads, TreeShape.chain(1)), PROMPTS, options=TuneOptions(tokens=17))


def test_too_little_to_learn_from() -> None:
    model = native(alphabet_model())
    with pytest.raises(DataError, match="1 prompts, of which 1 leave room"):
        Tuning(model, alphabet_heads(model), PROMPTS[:1], options=TuneOptions(tokens=17))
    with pytest.raises(DataError, match="of which 0 leave room for 128 tokens in a context of 128"):
        Tuning(model, alphabet_heads(model), PROMPTS, options=TuneOptions(tokens=128))
    with pytest.raises(DataError, match="96 positions to learn from; expected at least 200"):
        Tuning(model, alphabet_heads(model), PROMPTS, options=TuneOptions(tokens=17, batch=(1,))).choose()
