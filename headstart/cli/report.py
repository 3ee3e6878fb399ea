"""What the commands say of a finished text: a record for machines, a line for people."""

import json
from dataclasses import asdict
from typing import Any

from headstart.completion import Completion, Stats
from headstart.finite import finite


def completion_record(prompt: Any, completion: Completion) -> dict[str, Any]:
    """Everything known of a text, ready for JSON."""
    return {
        "prompt": prompt,
        "text": completion.text,
        "token_ids": list(completion.token_ids),
        "logprobs": None if completion.logprobs is None else [asdict(one) for one in completion.logprobs],
        "finish_reason": completion.finish_reason,
        "seed": completion.seed,
        "prompt_tokens": completion.prompt_tokens,
        "error": None if completion.error is None else str(completion.error),
        "stats": stats_record(completion.stats),
    }


def stats_record(stats: Stats) -> dict[str, Any]:
    """The counts and, worked out from them, the figures that people compare."""
    return {
        **vars(stats),
        "accepted_tokens": stats.accepted_tokens,
        "tokens_per_step": stats.tokens_per_step,
        "decode_seconds": stats.decode_seconds,
        "tokens_per_second": stats.tokens_per_second,
    }


def stats_line(completion: Completion, *, show_seed: bool = False) -> str:
    """One text's figures for people: counts, tokens per step, tokens per second after the first token.

    The seed matters where the text was sampled.
    """
    if completion.error is not None:
        return f"error: {completion.error}"
    stats = completion.stats
    line = f"{stats.emitted_tokens} tokens in {stats.steps} steps"
    if stats.steps:
        line += f", {stats.tokens_per_step:.2f} tokens per step, {stats.tokens_per_second:.1f} tokens/s"
    if stats.acceptance != "exact":
        line += f", {stats.acceptance} acceptance ({'lossy' if stats.lossy else 'exact in distribution'})"
    if stats.weights is not None:
        line += f", weights in {stats.weights}"
    seed = f", seed {completion.seed}" if show_seed else ""
    return f"{line} (ended by {completion.finish_reason}{seed})"


def to_json(record: Any) -> str:
    """One line of JSON; a number that is not finite, of a text without a step for instance, becomes null."""
    return json.dumps(finite(record), allow_nan=False)
