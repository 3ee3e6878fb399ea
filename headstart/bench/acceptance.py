"""Accepted tokens per verification step."""

from collections.abc import Sequence
from typing import Any

from headstart.bench.bootstrap import ratio_interval
from headstart.bench.latency import by_category
from headstart.bench.run import Text
from headstart.bench.samples import Sample


def acceptance(samples: Sequence[Sample], name: str) -> dict[str, Any] | None:
    """Of one contestant in one setting; None where it guesses nothing or nobody tells.

    ``tokens_per_step`` is L, (emitted tokens - 1) / passes, plain decoding being 1. ``joint[d]`` is the share of steps that
    accepted at least d + 1 guesses, ``conditional[d]`` that share among the steps that accepted d.
    """
    mine = [sample for sample in samples if name in sample.runs]
    texts = [text for sample in mine for text in _texts(sample, name) if text.steps]
    if not any(text.proposed or text.accepted_per_depth for text in texts):
        return None
    steps = sum(text.steps for text in texts)
    depth = max(len(text.accepted_per_depth) for text in texts)
    at_least = [sum(t.accepted_per_depth[d] for t in texts if len(t.accepted_per_depth) > d) for d in range(depth)]
    levels = [steps, *at_least, 0]
    proposed = sum(text.proposed for text in texts)
    interval = ratio_interval(*_pairs(mine, name))
    return {
        "steps": steps,
        "tokens_per_step": None if interval is None else interval.to_dict(),
        "proposed_per_step": proposed / steps if proposed else None,
        "accepted_share": sum(at_least) / proposed if proposed else None,
        "histogram": [here - more for here, more in zip(levels, levels[1:], strict=False)],
        "joint": [count / steps for count in at_least],
        "conditional": [count / before if before else 0.0 for before, count in zip(levels, at_least, strict=False)],
        "by_category": {
            category: sum(tokens) / sum(passes)
            for category, group in by_category(mine).items()
            if sum((pair := _pairs(group, name))[1])
            for tokens, passes in [pair]
        },
    }


def _texts(sample: Sample, name: str) -> list[Text]:
    return [text for run in sample.runs[name] for text in run.texts]


def _pairs(samples: Sequence[Sample], name: str) -> tuple[list[float], list[float]]:
    """Tokens after the first one, and passes, by sample; texts that nobody counted the passes of are left out."""
    counted = [[text for text in _texts(sample, name) if text.steps] for sample in samples]
    counted = [texts for texts in counted if texts]
    return (
        [float(sum(len(text.ids) - 1 for text in texts)) for texts in counted],
        [float(sum(text.steps for text in texts)) for texts in counted],
    )
