"""Where a step's time goes."""

import pytest

from headstart.bench.overhead import overhead
from headstart.bench.run import Run
from headstart.bench.split import PARTS, StepSplit
from tests.bench.made_up import run, sample, wide

SAMPLES = [sample("a", {"plain": run(range(9), 8.0), "medusa": run(range(9), 6.0, accepted=[4], steps=4)})]
"""8 plain steps of 1 s, half of it the pass; 4 steps of 1.5 s: the pass 0.75, drafting 0.375, acceptance and commit 0.1875 each."""


def test_a_step_and_what_it_predicts() -> None:
    """T = 0.5; overhead = 0.75 - 0.5 + 0.375 + 0.1875 + 0.1875 = 1; 2 * 0.5 / 1.5 = 2/3; measured 8 / 6."""
    found = overhead(SAMPLES, "medusa")
    assert found is not None
    assert (found["passes"], found["step_ms"]) == (4, 1500)
    assert sum(found["ms_per_step"].values()) == pytest.approx(found["step_ms"])
    assert found["share"]["draft"] == 0.25
    assert found["unaccounted_share"] == 0
    prediction = found["prediction"]
    assert prediction["tokens_per_step"] == 2
    assert prediction["plain_pass_ms"] == 500
    assert prediction["overhead_ms"] == pytest.approx(1000)
    assert prediction["predicted_speedup"] == pytest.approx(2 / 3)
    assert prediction["measured_speedup"] == pytest.approx(8 / 6)
    assert prediction["error"] == pytest.approx(-0.5)


def test_plain_decoding_predicts_nothing() -> None:
    found = overhead(SAMPLES, "plain")
    assert found is not None
    assert found["prediction"] is None
    assert found["step_ms"] == 1000


def test_finer_parts_add_up_to_the_step() -> None:
    """Of 375 ms of drafting a fifth waits for the device, and half of the rest is the trees'."""
    verify = {"attention": 0.1, "products": 0.7, "small operations": 0.1, "between operations": 0.1}
    found = overhead(SAMPLES, "medusa", StepSplit(tree=0.5, waiting={"draft": 0.2}, verify=verify))
    assert found is not None
    parts = found["parts"]
    assert sum(parts.values()) == pytest.approx(1500)
    assert list(parts) == [part for part in PARTS if part != "verify"]
    assert parts["synchronisation"] == pytest.approx(75)
    assert parts["tree construction"] == parts["drafting"] == pytest.approx(150)
    assert parts["products"] == pytest.approx(525)


def test_who_tells_nothing() -> None:
    assert overhead(SAMPLES, "transformers") is None


def test_texts_of_a_batch_that_end_at_different_times() -> None:
    """Two texts in 8 plain steps wrote 8 and 4 tokens, 1.5 a step; 12 in 4 steps are 3, so L is 2 as it is for one text."""
    runs = {name: wide(each, 2) for name, each in (("plain", run(range(9), 8.0)), ("medusa", run(range(9), 6.0, steps=4)))}
    runs = {name: Run(**{**vars(each), "texts": [each.texts[0], run(range(5), 1.0).texts[0]]}) for name, each in runs.items()}
    found = overhead([sample("a b", runs)], "medusa")
    assert found is not None
    assert found["prediction"]["tokens_per_step"] == 2
