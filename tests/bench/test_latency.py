"""Times and speed-ups."""

import pytest

from headstart.bench.latency import against, latency
from headstart.bench.samples import Sample
from tests.bench.made_up import run, sample

IDS = [1, 2, 3, 4, 5]
SAMPLES = [
    sample("a", {"plain": run(IDS, 4.0), "medusa": run(IDS, 2.0), "transformers": run(IDS, 8.0)}, "qa"),
    sample("b", {"plain": run(IDS, 4.0), "medusa": run(IDS, 1.0), "transformers": run(IDS, 8.0)}, "rag"),
    sample("c", {"plain": run(IDS, 4.0), "medusa": run(IDS, 4.0), "transformers": run(IDS, 8.0)}, "rag"),
]


def test_a_contestant() -> None:
    """Four tokens after the first in 2, 1 and 4 seconds: 500, 250 and 1000 ms each, against plain decoding's 1000."""
    found = latency(SAMPLES, "medusa")
    assert found is not None
    assert (found["texts"], found["samples"], found["prompt_tokens"], found["output_tokens"]) == (3, 3, 10, 5)
    assert found["ms_per_token"]["p50"] == 500
    assert found["ms_per_token"]["mean"] == pytest.approx(1750 / 3)
    assert found["ms_between_pieces"]["n"] == 12
    assert found["ms_to_first_token"]["p50"] == found["ms_prefill"]["p90"] == 1000
    assert found["tokens_per_second"]["decode"] == pytest.approx(12 / 7)
    assert found["tokens_per_second"]["end_to_end"] == pytest.approx(15 / 10)
    plain = found["against"]["plain"]
    assert plain["per_sample"] == {"a": 2.0, "b": 4.0, "c": 1.0}
    assert (plain["decode"]["estimate"], plain["decode"]["n"]) == (2.0, 3)
    assert plain["end_to_end"]["estimate"] == pytest.approx(5 / 3)  # 5 s over 3 s, with the prompt's second
    assert plain["decode_totals"]["estimate"] == pytest.approx(12 / 7)
    assert found["against"]["transformers"]["decode"]["estimate"] == 4.0
    assert found["by_category"]["rag"]["decode"]["estimate"] == 2.5  # between 4 and 1
    assert list(found["by_category"]) == ["qa", "rag"]


def test_who_did_not_take_part() -> None:
    assert latency(SAMPLES, "ngram") is None


def test_texts_of_other_lengths_are_compared_by_their_speed() -> None:
    """Twice as many tokens in twice the time is the same speed."""
    twice = [sample("a", {"plain": run(IDS, 4.0), "transformers": run(list(range(9)), 8.0)})]
    found = against(twice, "transformers", "plain")
    assert found["decode"]["estimate"] == found["decode_totals"]["estimate"] == 1.0


def test_the_turns_of_a_question_count_as_one() -> None:
    """8 tokens in 2 + 6 seconds."""
    turns = Sample("a", "qa", {"plain": [run(IDS, 4.0)] * 2, "medusa": [run(IDS, 2.0), run(IDS, 6.0)]})
    assert turns.rate("medusa") == 1.0
    assert against([turns], "medusa", "plain")["per_sample"] == {"a": 1.0}
