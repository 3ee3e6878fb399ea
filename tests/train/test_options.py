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
        ({"draft_vocab_size": -1}, "draft_vocab_size is -1"),
        ({"minutes": 1, "tokens": 100}, "both minutes and tokens"),
        ({"keep_answers": True}, "keep_answers was given without data"),
    ],
)
def test_values_outside_their_range(changes: dict[str, float], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        TrainOptions(**changes)  # type: ignore[arg-type]


def test_identity_is_all_but_how_a_run_is_shown() -> None:
    first = TrainOptions(data=(Path("a.jsonl"),), quiet=True)
    assert first.identity == TrainOptions(data=(Path("a.jsonl"),), resume=True).identity
    assert first.identity["data"] == ["a.jsonl"]
    assert first.identity != TrainOptions(data=(Path("a.jsonl"),), seed=1).identity
