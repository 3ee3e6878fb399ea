"""``headstart train-joint``."""

from pathlib import Path

import pytest

from headstart.cli.main import main


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere/at all"], "there is no model at"),
        (["bundled", "--dropout", "1"], "dropout is 1.0"),
        (["bundled", "--backbone", "some"], "some"),
    ],
)
def test_mistakes_are_told(arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    heads = ["--heads", str(Path(__file__).parents[2] / "headstart" / "assets" / "smollm2-135m-instruct")]
    assert main(["train-joint", *arguments, *heads, "--output", str(tmp_path / "out"), "--quiet"]) == 2
    assert message in capsys.readouterr().err
