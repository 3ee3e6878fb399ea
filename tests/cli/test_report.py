"""Records and lines about finished texts."""

import json
from dataclasses import replace

from headstart.cli.report import completion_record, stats_line, to_json
from headstart.completion import Completion, Stats, TokenLogprob


def completion(steps: int, emitted: int) -> Completion:
    stats = Stats(prompt_tokens=3, emitted_tokens=emitted, steps=steps, proposed_tokens=8, accepted_per_depth=[2, 1])
    stats.seconds.update(prefill=9.0, verify=0.3, draft=0.1)
    ids = tuple(range(emitted))
    return Completion(text="so it is", token_ids=ids, finish_reason="length", seed=7, prompt_tokens=3, stats=stats)


def test_line() -> None:
    # (9 - 1) / 4 steps = 2 tokens a step; 8 tokens in 0.4 s, prefill left out, are 20 a second
    line = "9 tokens in 4 steps, 2.00 tokens per step, 20.0 tokens/s (ended by length"
    assert stats_line(completion(steps=4, emitted=9)) == line + ")"
    assert stats_line(completion(steps=4, emitted=9), show_seed=True) == line + ", seed 7)"


def test_line_of_lossy_acceptance() -> None:
    finished = completion(steps=4, emitted=9)
    finished.stats.acceptance, finished.stats.lossy = "typical", True
    assert "20.0 tokens/s, typical acceptance (lossy) (ended by length)" in stats_line(finished)


def test_line_of_acceptance_that_is_exact_in_distribution() -> None:
    finished = completion(steps=4, emitted=9)
    finished.stats.acceptance = "rejection"
    assert "20.0 tokens/s, rejection acceptance (exact in distribution) (ended by length)" in stats_line(finished)


def test_logprobs_in_the_record() -> None:
    finished = replace(completion(steps=0, emitted=1), logprobs=(TokenLogprob(0, -0.5, ((0, -0.5), (4, -1.25))),))
    record = json.loads(to_json(completion_record("is it", finished)))
    assert record["logprobs"] == [{"token_id": 0, "logprob": -0.5, "top": [[0, -0.5], [4, -1.25]]}]
    assert json.loads(to_json(completion_record("is it", completion(steps=0, emitted=1))))["logprobs"] is None


def test_line_of_a_text_without_a_step() -> None:
    assert stats_line(completion(steps=0, emitted=1)) == "1 tokens in 0 steps (ended by length)"


def test_record_is_json() -> None:
    record = json.loads(to_json(completion_record("is it", completion(steps=4, emitted=9))))
    assert record["prompt"] == "is it"
    assert record["text"] == "so it is"
    assert record["token_ids"] == list(range(9))
    assert (record["finish_reason"], record["seed"], record["prompt_tokens"]) == ("length", 7, 3)
    assert record["stats"]["tokens_per_step"] == 2.0
    assert record["stats"]["accepted_per_depth"] == [2, 1]
    assert record["stats"]["seconds"]["verify"] == 0.3


def test_numbers_that_json_does_not_know_become_null() -> None:
    # without a verify pass there are no tokens per step: NaN in Python, null for machines
    record = json.loads(to_json(completion_record("x", completion(steps=0, emitted=1))))
    assert record["stats"]["tokens_per_step"] is None
    assert record["stats"]["tokens_per_second"] is None
