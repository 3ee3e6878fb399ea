"""From what ``config.json`` holds to the config of its kind."""

import pytest

from headstart.drafters.heads import HeadsConfig
from headstart.drafters.kinds import config_of
from headstart.drafters.mtp_heads import MtpConfig
from headstart.errors import HeadsError

MTP = MtpConfig(
    hidden_size=32, vocab_size=64, num_heads=3, attention_heads=4, kv_heads=2, head_size=8, intermediate_size=48, rope_theta=1e4
)


@pytest.mark.parametrize(
    "config",
    [
        HeadsConfig(hidden_size=8, vocab_size=20, num_heads=2, projection="own", draft_vocab_size=7),
        HeadsConfig(hidden_size=8, vocab_size=20, kind="hydra"),
        MTP,
    ],
    ids=lambda config: config.kind,
)
def test_round_trip(config: HeadsConfig | MtpConfig) -> None:
    assert config_of(config.to_dict()) == config


def test_heads_of_no_kind_are_medusas() -> None:
    assert config_of({"hidden_size": 8, "vocab_size": 20}) == HeadsConfig(hidden_size=8, vocab_size=20)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"hidden_size": 8}, "vocab_size.*; expected at least hidden_size, vocab_size$"),
        ({"hidden_size": 8, "vocab_size": 20, "heads": 3}, r"unknown keys \['heads'\]; expected some of .*'num_heads'"),
        ({"kind": "eagle"}, "kind is 'eagle'; expected one of medusa, hydra, mtp"),
        ({"kind": ["mtp"]}, r"kind is \['mtp'\]; expected one of"),
        ({"kind": "mtp", "hidden_size": 8}, "expected at least hidden_size, vocab_size, num_heads, attention_heads, kv_heads"),
        ({**MTP.to_dict(), "depth": 3}, r"unknown keys \['depth'\]"),
        ({**MTP.to_dict(), "num_heads": 0}, "num_heads is 0"),
    ],
)
def test_mistakes(data: dict[str, object], message: str) -> None:
    with pytest.raises(HeadsError, match=message):
        config_of(data)
