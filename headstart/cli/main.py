"""The ``headstart`` command: finds the command asked for, runs it, and turns what happened into an exit code.

Exit codes: 0 fine, 1 a check failed, 2 a mistake of the user's, 130 interrupted.
"""

import io
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from headstart.errors import HeadstartError, InvalidParameterError
from headstart.version import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "demo": ("headstart.cli.demo", "Answer a question plainly and with drafting: the same text, sooner."),
    "generate": ("headstart.cli.generate", "Continue prompts, or answer them with --chat."),
    "chat": ("headstart.cli.chat", "Talk to a model; /exit or Ctrl-D ends it."),
    "train": ("headstart.cli.train", "Train heads for a model, from given data or from none."),
    "train-joint": ("headstart.cli.train_joint", "Train a model and its heads together; both change, and the heads guess better."),
    "train-mtp": ("headstart.cli.train_mtp", "Train a model to predict several tokens at once; it then drafts for itself."),
    "tune": ("headstart.cli.tune", "Measure this machine, while it is idle, and choose the fastest trees for it."),
    "simulate": ("headstart.cli.simulate", "Plan: tokens per step, speed-ups and costs of trees, from accuracies."),
    "bench": (
        "headstart.cli.bench",
        "Measure, on an idle machine, what drafting gains beside plain decoding and transformers.",
    ),
    "inspect": ("headstart.cli.inspect", "Show a model and its heads, and with --speed what this machine makes of them."),
}
"""From a command's name to the module whose ``run`` it is, and its line in the help."""

FINE, CHECK_FAILED, USER_ERROR, INTERRUPTED = 0, 1, 2, 130


def build_app() -> App:
    """The parser. Commands are given by name, so that none is imported before it runs."""
    app = App(
        name="headstart",
        help="A head start for your language model: the same text, sooner.",
        version=__version__,
        help_format="markdown",  # takes the lines of a field's docs together
        result_action="return_value",
        suppress_keyboard_interrupt=False,  # main() turns it into an exit code
        default_parameter=Parameter(negative_bool=(), negative_iterable=()),
    )
    for name, (module, line) in COMMANDS.items():
        app.command(f"{module}:run", name=name, help=line)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code. ``arguments`` are those of the process where None."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a model may write what the terminal cannot show
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    try:
        _check_command(tokens)
        status = build_app()(tokens, exit_on_error=False, print_error=False)
        sys.stdout.flush()  # here, where a broken pipe is expected, and not at the interpreter's exit
    except (HeadstartError, CycloptsError) as error:
        print(f"error: {error}", file=sys.stderr)
        return USER_ERROR
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINE
    return int(status or FINE)


def _check_command(tokens: Sequence[str]) -> None:
    """The parser would import every command before it says that there is no such one."""
    if tokens and not tokens[0].startswith("-") and tokens[0] not in COMMANDS:
        raise InvalidParameterError(f"unknown command {tokens[0]!r}; expected one of {', '.join(COMMANDS)}")
