"""The command line as a whole: help, exit codes, and what it may load."""

import re
import subprocess
import sys

import pytest

from headstart.cli import main as cli
from headstart.cli.main import COMMANDS, main
from headstart.errors import HeadsError
from headstart.version import __version__


def test_help_loads_neither_torch_nor_transformers() -> None:
    # the modules, not the clock: a slow machine must not fail this
    script = (
        "import sys; from headstart.cli.main import main; status = main(['--help'])\n"
        "print({'torch', 'transformers', 'tokenizers'} & set(sys.modules), file=sys.stderr); sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "set()"
    for command in COMMANDS:
        assert re.search(rf"\b{command}\b", done.stdout)


@pytest.mark.parametrize("command", list(COMMANDS))
def test_help_of_a_command_does_not_load_torch(command: str) -> None:
    script = f"import sys; from headstart.cli.main import main; main([{command!r}, '--help']); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("demo", ["--model", "--prompt", "--max-new-tokens", "--json", "--heads", "--nodes", "--dtype"]),
        ("generate", ["MODEL", "PROMPTS", "--chat", "--json", "--temperature", "--seed", "--stop", "--heads", "--nodes"]),
        ("chat", ["MODEL", "--system", "--json", "--temperature"]),
        ("train", ["MODEL", "--output", "--data", "--minutes", "--resume", "--no-condition-on-root", "--json"]),
        ("simulate", ["--head", "--nodes", "--widths", "--node-cost", "--price", "--steps", "--seed", "--json"]),
        ("inspect", ["TARGET", "--json"]),
    ],
)
def test_help_of_a_command(command: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert [option for option in options if option not in shown] == []


@pytest.mark.parametrize("command", list(COMMANDS))
def test_help_is_for_people(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The texts come from docs in the source: no Python words, and no gaps where a line of the source ended."""
    assert main([command, "--help"]) == 0
    texts = [re.split(r" {2,}", line.strip("│ "))[-1] for line in capsys.readouterr().out.splitlines()]
    assert [text for text in texts if re.search(r"\bNone\b|``", text)] == []
    shown = " ".join(texts)
    assert "repeats it only where these are the same" in shown or command not in ("generate", "chat")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.strip() == __version__


def test_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "headstart", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == __version__


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sing"], "error: unknown command 'sing'; expected one of demo, generate"),
        (["generate"], "error: Command"),
        (["generate", "bundled", "x", "--temprature", "1"], "error: Unknown option: --temprature"),
        (["demo", "--nodes", "many"], "error: Invalid value for --nodes"),
    ],
)
def test_a_mistake_exits_with_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert captured.out == ""


@pytest.mark.parametrize(("raised", "status"), [(HeadsError("heads are of another model"), 2), (KeyboardInterrupt(), 130)])
def test_exit_codes(
    raised: BaseException, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def app(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(cli, "build_app", lambda: app)
    assert main(["demo"]) == status
    assert capsys.readouterr().err == ("error: heads are of another model\n" if status == 2 else "interrupted\n")


def test_our_own_mistakes_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def app(*_: object, **__: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(cli, "build_app", lambda: app)
    with pytest.raises(ZeroDivisionError):
        main(["demo"])
