"""``headstart demo``: one question answered twice, plainly and with drafting, to be seen and compared."""

import math
import sys
from typing import TYPE_CHECKING, Any

from headstart.cli.options import ModelOptions
from headstart.cli.report import completion_record, stats_line, to_json
from headstart.cli.step_marks import StepMarks
from headstart.completion import Completion

if TYPE_CHECKING:
    from headstart.llm import LLM

WARM_UP_TOKENS = 16
GUESSERS = {
    "combined": "heads and n-grams",
    "ngram": "what followed the same tokens before",
    "draft-model": "a smaller model",
    "mtp": "the model's own further heads",
}
"""What makes the guesses, for people, where the drafter's name does not say it."""


def run(
    *,
    model: str = "bundled",
    prompt: str = "How do I reset my password?",
    max_new_tokens: int = 128,
    nodes: int | None = None,
    threads: int | None = None,
    json: bool = False,
    options: ModelOptions = ModelOptions(),
) -> int:
    """Answer a question plainly, then with drafting; exit with 1 if the two texts differ.

    Parameters
    ----------
    model
        A hub id, a directory, a GGUF file, or "bundled".
    prompt
        The question.
    max_new_tokens
        Write at most so many tokens.
    nodes
        How many tree nodes a pass may hold, the root included; by default it begins with what the heads recommend.
    threads
        CPU threads; by default torch's number, but no more than there are physical cores.
    json
        Print one JSON object and no text.
    """
    llm = options.load(model, threads=threads)
    ways: dict[str, dict[str, Any]] = {"plain": {"drafter": "none"}, "heads": {"nodes": nodes}}
    for way in ways.values():  # the first texts after loading are slow: neither way shall pay for it
        llm.chat(prompt, max_new_tokens=min(WARM_UP_TOKENS, max_new_tokens), **way)
    if not json:
        print(f"{prompt}\n")
    plain, drafted = (_answer(llm, name, prompt, max_new_tokens, way, silent=json) for name, way in ways.items())
    equal = list(plain.token_ids) == list(drafted.token_ids)
    speedup = drafted.stats.tokens_per_second / plain.stats.tokens_per_second
    if json:
        record = {"model": model, "drafter": llm.drafter, "equal": equal, "speedup": speedup}
        print(to_json({**record, "plain": completion_record(prompt, plain), "heads": completion_record(prompt, drafted)}))
    else:
        print(_verdict(plain, drafted, equal, speedup, _guessers(llm)))
    return 0 if equal else 1


def _answer(llm: "LLM", name: str, prompt: str, max_new_tokens: int, way: dict[str, Any], *, silent: bool) -> Completion:
    marks = StepMarks(sys.stdout)
    if not silent:
        print(f"{'Plain decoding' if name == 'plain' else f'Drafting with {_guessers(llm)}'} ({marks.legend}):")
    completion = None
    for chunk in llm.stream(prompt, chat=True, max_new_tokens=max_new_tokens, **way):
        if not silent:
            marks.write(chunk.text)
        completion = chunk.completion
    assert completion is not None, "the last chunk carries the whole"
    if not silent:
        print(f"\n  {stats_line(completion)}\n")
    return completion


def _guessers(llm: "LLM") -> str:
    return f"{GUESSERS[llm.drafter]} ({llm.drafter})" if llm.drafter in GUESSERS else llm.drafter


def _verdict(plain: Completion, drafted: Completion, equal: bool, speedup: float, guessers: str) -> str:
    if not equal:
        pairs = enumerate(zip(plain.token_ids, drafted.token_ids, strict=False))
        shorter = min(len(plain.token_ids), len(drafted.token_ids))
        first = next((i for i, (a, b) in pairs if a != b), shorter)
        return (
            f"The two texts DIFFER from token {first} on. In bfloat16 a near-tie can fall either way, since passes of other shapes"
            " round otherwise; --dtype float32 tells whether that was it."
        )
    line = f"The two texts are equal, token for token ({len(plain.token_ids)} tokens)."
    if not drafted.stats.proposed_tokens:
        return f"{line} No token was proposed by {guessers}; headstart train makes heads for a model that has none."
    if not math.isfinite(speedup):
        return f"{line} It was too short to time."
    return f"{line} Drafting with {guessers}, this run wrote {speedup:.2f} times as many tokens a second."
