"""``headstart chat``: a conversation at the terminal, or over a pipe with one message a line."""

import importlib.util
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from headstart.cli.options import ModelOptions, WritingOptions
from headstart.cli.report import completion_record, stats_line, to_json
from headstart.cli.stdin import is_typed
from headstart.completion import Completion
from headstart.errors import PromptError

if TYPE_CHECKING:
    from headstart.llm import LLM

EXIT = "/exit"


def run(
    model: str = "bundled",
    /,
    *,
    system: str | None = None,
    json: bool = False,
    options: ModelOptions = ModelOptions(),
    writing: WritingOptions = WritingOptions(),
) -> int:
    """Talk to a model. It sees the whole conversation; Ctrl-C cuts an answer short.

    Parameters
    ----------
    model
        A hub id, a directory, a GGUF file, or "bundled".
    system
        A message that sets the stage, before all others.
    json
        Print one JSON object an answer.
    """
    llm = options.load(model, drafter=writing.drafter)
    conversation = [{"role": "system", "content": system}] if system else []
    for message in _messages():
        conversation.append({"role": "user", "content": message})
        try:
            text, completion = _answer(llm, conversation, writing, silent=json)
        except PromptError as error:
            if not is_typed():
                raise
            conversation.pop()
            print(f"error: {error}", file=sys.stderr)
            continue
        conversation.append({"role": "assistant", "content": text})
        if completion is None:
            continue
        if json:
            print(to_json(completion_record(message, completion)), flush=True)
        if json or is_typed():
            print(stats_line(completion, show_seed=writing.temperature > 0), file=sys.stderr)
    return 0


def _messages() -> Iterator[str]:
    """What the user types, line by line, to the end of the input or ``/exit``. Empty lines are passed over."""
    interactive = is_typed()
    if interactive and importlib.util.find_spec("readline"):
        importlib.import_module("readline")  # loading it gives input() its line editing and history
    while sys.stdin is not None:
        try:
            line = input("> " if interactive else "").strip()
        except (EOFError, KeyboardInterrupt) as end:
            if interactive:
                print()  # the shell's prompt starts a line of its own
            if isinstance(end, KeyboardInterrupt):
                raise
            return
        if line == EXIT:
            return
        if line:
            yield line


def _answer(
    llm: "LLM", conversation: list[dict[str, str]], writing: WritingOptions, *, silent: bool
) -> tuple[str, Completion | None]:
    """Stream an answer. The completion is None if a person at the terminal cut it short; the text is what was shown."""
    text, completion = "", None
    try:
        for chunk in llm.stream(list(conversation), chat=True, **vars(writing)):
            text += chunk.text
            completion = chunk.completion
            if not silent:
                print(chunk.text, end="", flush=True)
    except KeyboardInterrupt:  # the stream is closed on the way out and frees its row
        if not is_typed():
            raise
    if not silent:
        print()
    return text, completion
