"""Multi-token training is decided by its seed."""

from pathlib import Path

import pytest

from headstart.train.mtp.options import MtpOptions
from headstart.train.mtp.run import train_mtp

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("schedule", ["all", "grow", "shrink"])
def test_the_same_seed_trains_the_same(schedule: str, tmp_path: Path) -> None:
    """Files equal to the byte, tokenizer, tree and calibration included."""
    (tmp_path / "text.txt").write_text("".join(f"line {i % 97} of {i % 11}\n" for i in range(9000)))
    options = MtpOptions(
        text=(tmp_path / "text.txt",),
        heads=3,
        tokens=8192,
        vocab_size=512,
        layers=2,
        hidden_size=32,
        attention_heads=2,
        kv_heads=1,
        length=64,
        batch=8,
        held_out=1200,
        schedule=schedule,  # type: ignore[arg-type]
        quiet=True,
    )
    for name in ("one", "two"):
        train_mtp(tmp_path / name, options=options, device="cpu")
    for file in ("model.safetensors", "tokenizer.json", "log.jsonl", "headstart/heads.safetensors"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
