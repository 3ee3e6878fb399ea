"""What is said of quality, and what is warned of."""

from typing import Any

from headstart.bench.quality.proportions import paired_difference, wilson
from headstart.bench.quality.scores import score
from headstart.bench.quality.survey import NOTHING
from headstart.bench.quality.tables import quality_tables
from headstart.bench.quality.words import quality_sentences, quality_warnings
from tests.bench.made_up import made_up_result

BASE = {"1": True, "2": True, "3": False, "4": False}
MINE = {"1": True, "2": False, "3": False, "4": False, "5": True}
CATEGORY = {"1": "sums", "2": "sums", "3": "facts", "4": "facts", "5": "facts"}


def interval(estimate: float, low: float, high: float) -> dict[str, float]:
    return {"estimate": estimate, "low": low, "high": high, "n": 10}


def surveyed() -> dict[str, Any]:
    """A lossy subject whose answers are a little less likely, and that loses a question of four."""
    head = {"label": "batch 1, temperature 1", "temperature": 1.0, "batch": 1}
    likely = {"perplexity": {"perplexity": interval(4.2, 4, 4.4), "of_base": interval(1.05, 1.01, 1.1), "tokens": 100}, "texts": 10}
    own = {"perplexity": {"perplexity": interval(4.0, 3.8, 4.2), "of_base": interval(1, 1, 1), "tokens": 100}, "texts": 10}
    scores = {name: {"exact-match": score(marks, BASE, CATEGORY)} for name, marks in (("medusa", MINE), ("plain", BASE))}
    return {
        **NOTHING,
        "answers": [{**head, "contestants": {"medusa": likely, "plain": own}}],
        "tasks": [{**head, "contestants": scores, "left_out": {"exact-match": 2}}],
        "code_without_network": False,
    }


def test_scores() -> None:
    """The fifth question was not put to the base, so four are compared."""
    found = score(MINE, BASE, CATEGORY)
    assert (found["right"], found["more_than_base"]) == (wilson(2, 5).to_dict(), paired_difference(0, 1, 4).to_dict())  # type: ignore[union-attr]
    assert (found["gained"], found["lost"], found["by_category"]) == (0, 1, {"sums": [1, 2], "facts": [1, 3]})
    assert score({}, {}, {}) == {"right": None, "more_than_base": None, "gained": 0, "lost": 0, "by_category": {}}


def test_sentences() -> None:
    result = made_up_result()
    assert quality_sentences(result, "medusa") == []
    result["quality"].update(surveyed())
    # one lost of four: middle -1/6, reach 1.96 sqrt(2 - 1/6) / 6
    assert quality_sentences(result, "medusa") == [
        "Quality at temperature 1: the perplexity of its answers under the base model is 1.050 times that of the base's own"
        " (1.010 to 1.100, n = 10).",
        "Quality at temperature 1: 2 of 5 questions with references right, plain decoding 2; difference in points -25.0"
        " (-61 to +28).",
    ]
    assert quality_sentences(result, "plain") == []


def test_tables() -> None:
    answers, tasks, categories = quality_tables(surveyed())
    assert answers.rows[0][:4] == ("medusa", "10", "4.2 (4 to 4.4)", "1.050 (1.010 to 1.100)")
    assert answers.rows[1][2:4] == ("4 (3.8 to 4.2)", "")
    assert tasks.rows == [("medusa", "2 of 5 (12% to 77%)", "-25.0 (-61 to +28)", "0, 1"), ("plain", "2 of 4 (15% to 85%)", "", "")]
    assert categories.rows == [("sums", "1 of 2", "2 of 2"), ("facts", "1 of 3", "0 of 2")]
    assert quality_tables({}) == []  # a result of before there was such a part


def test_warnings() -> None:
    result = made_up_result()
    assert quality_warnings(result) == []
    result["environment"]["contestants"]["medusa"]["lossy"] = True
    unmeasured, cold = quality_warnings(result)
    assert unmeasured == "medusa is lossy, and the quality of its answers was not measured."
    assert "the model's own text at temperature 0" in cold
    result["quality"].update(surveyed())
    assert quality_warnings(result)[1:] == [
        "exact-match: 2 tasks were left out, since the model's context has no room for them.",
        "Code that the model wrote ran where the network could not be taken away; its calls were refused instead.",
    ]
