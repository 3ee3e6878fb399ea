"""How long a token takes, and how many times faster one contestant is than another."""

from collections.abc import Sequence
from typing import Any

from headstart.bench.bootstrap import Interval, median_interval, ratio_interval
from headstart.bench.contestants import PLAIN, TRANSFORMERS
from headstart.bench.percentiles import percentiles
from headstart.bench.run import Run
from headstart.bench.samples import Sample

MS = 1e3


def latency(samples: Sequence[Sample], name: str, noise: float = 0.0) -> dict[str, Any] | None:
    """Of one contestant in one setting; None where it did not take part in any sample. ``noise``: see ``bootstrap.py``.

    Ratios are of tokens per second on the same questions: medians over questions with their intervals, and all tokens over all
    seconds. ``decode`` leaves the prompts' passes and each text's first token out, ``end_to_end`` holds everything.
    """
    mine = [sample for sample in samples if name in sample.runs]
    if not mine:
        return None
    runs: list[Run] = [run for sample in mine for run in sample.runs[name]]
    texts = [text for run in runs for text in run.texts]
    gaps = [gap for run in runs for gap in run.gaps]
    return {
        "texts": len(texts),
        "samples": len(mine),
        "prompt_tokens": percentiles([text.prompt_tokens for text in texts])["mean"],
        "output_tokens": percentiles([len(text.ids) for text in texts])["mean"],
        "ms_per_token": percentiles([(t.last - t.first) / (len(t.ids) - 1) for t in texts if len(t.ids) > 1], MS),
        "ms_between_pieces": percentiles(gaps, MS),
        "ms_to_first_token": percentiles([text.first for text in texts], MS),
        "ms_prefill": percentiles([run.prefill for run in runs], MS),
        "tokens_per_second": {
            "decode": sum(s.decode_tokens(name) for s in mine) / sum(s.decode_seconds(name) for s in mine),
            "end_to_end": sum(s.tokens(name) for s in mine) / sum(s.seconds(name) for s in mine),
        },
        "against": {base: against(mine, name, base, noise) for base in (PLAIN, TRANSFORMERS) if any(base in s.runs for s in mine)},
        "by_category": {
            category: {
                kind: None if (found := median_interval(values, noise=_between(name, PLAIN, noise))) is None else found.to_dict()
                for kind, values in {
                    "decode": [s.rate(name) / s.rate(PLAIN) for s in group],
                    "end_to_end": [s.whole_rate(name) / s.whole_rate(PLAIN) for s in group],
                }.items()
            }
            for category, group in by_category(mine).items()
        },
    }


def against(samples: Sequence[Sample], name: str, base: str, noise: float = 0.0) -> dict[str, Any]:
    """Speed-up of ``name`` over ``base``; ``per_sample`` are the ratios of decoding, by question."""
    both = [sample for sample in samples if base in sample.runs and name in sample.runs]
    ratios = [sample.rate(name) / sample.rate(base) for sample in both]
    whole = [sample.whole_rate(name) / sample.whole_rate(base) for sample in both]
    noise = _between(name, base, noise)
    return {
        "decode": _dict(median_interval(ratios, noise=noise)),
        "end_to_end": _dict(median_interval(whole, noise=noise)),
        "decode_totals": _dict(_totals(both, name, base, noise)),
        "per_sample": {sample.key: ratio for sample, ratio in zip(both, ratios, strict=True)},
    }


def by_category(samples: Sequence[Sample]) -> dict[str, list[Sample]]:
    """In order of the categories' names."""
    found: dict[str, list[Sample]] = {}
    for sample in samples:
        found.setdefault(sample.category, []).append(sample)
    return dict(sorted(found.items()))


def _between(name: str, base: str, noise: float) -> float:
    """Nothing differs from itself."""
    return 0.0 if name == base else noise


def _totals(samples: Sequence[Sample], name: str, base: str, noise: float) -> Interval | None:
    """Tokens per second over all; texts may differ in length, so each question's seconds are scaled to the base's tokens."""
    scaled = [s.decode_seconds(name) * s.decode_tokens(base) / s.decode_tokens(name) for s in samples]
    return ratio_interval([s.decode_seconds(base) for s in samples], scaled, noise=noise)


def _dict(interval: Interval | None) -> dict[str, Any] | None:
    return None if interval is None else interval.to_dict()
