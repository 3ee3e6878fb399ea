from dataclasses import replace
from pathlib import Path

import pytest

from headstart.errors import InvalidParameterError
from headstart.train.options import TrainOptions


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"minutes": 0}, "minutes is 0; expected a number above 0"),
        ({"minutes": float("nan")}, "minutes is nan"),
        ({"lr": -1.0}, "lr is -1.0"),
        ({"batch": 1}, "batch is 1; expected at least 2"),
        ({"tokens": 0}, "tokens is 0; expected at least 2"),
        ({"num_heads": 0}, "num_heads is 0; expected at least 1"),
        ({"num_layers": -1}, "num_layers is -1; expected at least 0"),
        ({"condition_size": 0}, "condition_size is 0; expected at least 1"),
        ({"endpoint_parallel": 2}, "endpoint_parallel was given without endpoint"),
        ({"api_key_env": "KEY"}, "api_key_env was given without endpoint"),
        ({"draft_vocab_size": -1}, "draft_vocab_size is -1"),
        ({"minutes": 1, "tokens": 100}, "both minutes and tokens"),
        ({"keep_answers": True}, "keep_answers was given without data"),
        ({"projection": "low-rank", "projection_rank": 0}, "projection_rank is 0; expected at least 1"),
        ({"projection_rank": 8}, "projection is 'shared'; ask for 'low-rank'"),
        ({"condition_on_root": False, "condition_size": 8}, "condition_size was given and condition_on_root is off"),
        ({"num_layers": 0, "block": "mlp"}, "block is 'mlp' and num_layers is 0"),
        ({"decontaminate": (Path("p.jsonl"),), "decontaminate_words": 0}, "decontaminate_words is 0, which leaves all in"),
        ({"max_bad_rows": 3}, "max_bad_rows was given without data"),
        ({"shards": Path("s"), "data": (Path("a.jsonl"),)}, "both shards and data"),
        ({"shards": Path("s"), "minutes": 1}, "both shards and minutes"),
        ({"shards": Path("s"), "decontaminate": (Path("p.jsonl"),)}, "both shards and decontaminate were"),
        ({"shards": Path("s"), "decontaminate_words": 5}, "both shards and decontaminate_words were"),
        ({"shards": Path("s"), "max_bad_rows": 0}, "both shards and max_bad_rows"),
    ],
)
def test_values_outside_their_range(changes: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        TrainOptions(**changes)  # type: ignore[arg-type]


def test_identity_is_all_but_how_a_run_is_shown() -> None:
    first = TrainOptions(data=(Path("a.jsonl"),), quiet=True)
    assert first.identity == TrainOptions(data=(Path("a.jsonl"),), resume=True).identity
    assert first.identity["data"] == ["a.jsonl"]
    assert first.identity != TrainOptions(data=(Path("a.jsonl"),), seed=1).identity


def test_a_run_may_be_resumed_at_another_address_but_not_with_another_model() -> None:
    """How an endpoint is reached changes no answer; which model writes and which rows are left out does."""
    asked = TrainOptions(data=(Path("d.jsonl"),), endpoint="http://a/v1", endpoint_model="m", tensorboard=True)
    moved = replace(asked, endpoint="http://b/v1", api_key_env="KEY", endpoint_timeout=3.0, max_bad_rows=0, tensorboard=False)
    assert moved.identity == asked.identity
    for change in ({"endpoint_model": "other"}, {"decontaminate": (Path("e.jsonl"),)}):
        assert replace(asked, **change).identity != asked.identity
