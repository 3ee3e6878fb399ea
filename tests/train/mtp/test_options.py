"""What can be asked of multi-token training."""

from pathlib import Path
from typing import Any

import pytest

from headstart.errors import InvalidParameterError
from headstart.train.mtp.options import MtpOptions


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"heads": 0}, "heads is 0"),
        ({"layers": 1}, "layers is 1"),
        ({"vocab_size": 300}, "vocab_size is 300"),
        ({"length": 10}, "length is 10"),
        ({"hidden_size": 130}, "do not divide a hidden size of 130"),
        ({"attention_heads": 4, "kv_heads": 3}, "4 attention heads and 3 key/value heads"),
        ({"hidden_size": 12, "attention_heads": 4}, "an attention head would have size 3"),
        ({"tokens": 100}, "tokens is 100"),
        ({"held_out": 100}, "held_out is 100"),
        ({"lr": 0.0}, "lr is 0.0"),
        ({"lr": float("nan")}, "lr is nan"),
        ({"model": "m", "hidden_size": 64}, "both model and hidden_size were given; m is as it is"),
        ({"head_weights": (1.0, 1.0)}, "2 head_weights for 4 heads"),
        ({"head_weights": (0.0, 1.0, 1.0, 1.0)}, "the first one above 0"),
        ({"head_weights": (1.0, -1.0, 1.0, 1.0)}, "expected numbers from 0 on"),
    ],
)
def test_mistakes(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        MtpOptions(**given)


def test_weights_are_one_each_unless_given() -> None:
    assert MtpOptions(heads=3).weights == (1.0, 1.0, 1.0)
    assert MtpOptions(heads=2, head_weights=(1.0, 0.3)).weights == (1.0, 0.3)


def test_identity_is_all_but_how_a_run_is_shown() -> None:
    first = MtpOptions(text=(Path("a"),))
    assert first.identity == MtpOptions(text=(Path("a"),), resume=True, quiet=True, tensorboard=True).identity
    assert first.identity["text"] == ["a"]
    assert first.identity != MtpOptions(text=(Path("a"),), schedule="grow").identity


def test_steps_are_tokens_over_the_batch() -> None:
    assert MtpOptions(tokens=100_000, length=100, batch=10, held_out=20_000).steps == 100
