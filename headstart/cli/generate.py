"""``headstart generate``: prompts in, their continuations out."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from headstart.cli.options import ModelOptions, WritingOptions
from headstart.cli.report import completion_record, stats_line, to_json
from headstart.cli.stdin import is_typed
from headstart.completion import Completion
from headstart.errors import PromptError

if TYPE_CHECKING:
    from headstart.llm import LLM


def run(
    model: str,
    /,
    *prompts: str,
    file: Path | None = None,
    chat: bool = False,
    json: bool = False,
    options: ModelOptions = ModelOptions(),
    writing: WritingOptions = WritingOptions(),
) -> int:
    """Write texts to stdout and figures to stderr. One prompt is streamed, several are one batch.

    Parameters
    ----------
    model
        A hub id, a directory, a GGUF file, or "bundled".
    prompts
        What to continue; read from stdin where there is none and no file.
    file
        A text file with further prompts, one on each line.
    chat
        Take each prompt as a message to answer, in the model's chat template.
    json
        Print one JSON object a prompt.
    """
    texts = [*prompts, *([] if file is None else _prompts_from(file))] or [_prompt_from_stdin()]
    llm = options.load(model, drafter=writing.drafter)
    if len(texts) == 1 and not json:
        completions = [_streamed(llm, texts[0], chat, writing)]
    else:
        completions = (llm.chat if chat else llm.generate)(texts, **vars(writing))
    for text, completion in zip(texts, completions, strict=True):
        if json:
            print(to_json(completion_record(text, completion)))
        elif len(texts) > 1:
            print(completion.text, end="\n\n")
        print(stats_line(completion, show_seed=writing.temperature > 0), file=sys.stderr)
    return 1 if any(completion.error for completion in completions) else 0


def _prompts_from(file: Path) -> list[str]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PromptError(f"{file} cannot be read ({error}); expected a text file in UTF-8 with a prompt on each line") from error
    prompts = [line for line in lines if line.strip()]
    if not prompts:
        raise PromptError(f"{file} holds no prompt; expected one on each line")
    return prompts


def _prompt_from_stdin() -> str:
    if is_typed():
        print("type the prompt, then Ctrl-D", file=sys.stderr)
    text = "" if sys.stdin is None else sys.stdin.read().removesuffix("\n")
    if not text:
        raise PromptError("there is no prompt; give one after the model, or write it to stdin")
    return text


def _streamed(llm: "LLM", prompt: str, chat: bool, writing: WritingOptions) -> Completion:
    completion = None
    chunks = llm.stream(prompt, chat=chat, **vars(writing))
    try:
        for chunk in chunks:
            print(chunk.text, end="", flush=True)
            completion = chunk.completion
    finally:
        print()  # a message that follows, of an interruption for instance, begins a line
    assert completion is not None, "the last chunk carries the whole"
    return completion
