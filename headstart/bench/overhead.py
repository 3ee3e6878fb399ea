"""Where the time of a step goes, and what speed-up that leaves."""

from collections.abc import Mapping, Sequence
from typing import Any

from headstart.bench.contestants import PLAIN
from headstart.bench.decoding import OUTSIDE
from headstart.bench.run import Run
from headstart.bench.samples import Sample
from headstart.bench.split import StepSplit

MS = 1e3
DRAFT, VERIFY, ACCEPT, COMMIT = "draft", "verify", "accept", "commit"


def overhead(samples: Sequence[Sample], name: str, split: StepSplit | None = None) -> dict[str, Any] | None:
    """Of one of our contestants in one setting; None for others.

    ``ms_per_step`` adds up to the whole time after the prompts', ``outside`` being what no phase claims. ``parts`` divides it
    further by what ``split`` saw. ``prediction`` is L*T/(T+overhead) with T the plain pass T(1) and overhead = T(n) - T(1) +
    draft + accept + commit, beside what was measured over all tokens. L is tokens per pass over plain decoding's: for one text
    at a time that is tokens per step, and for more it counts in that some end before others.
    """
    mine = [sample for sample in samples if name in sample.runs and PLAIN in sample.runs]
    runs = [run for sample in mine for run in sample.runs[name]]
    if not any(run.phases for run in runs):
        return None
    phases = mean_step(runs)
    plain = mean_step([run for sample in mine for run in sample.runs[PLAIN]])
    step = sum(phases.values())
    found = {
        "passes": sum(run.passes for run in runs),
        "step_ms": step * MS,
        "ms_per_step": {phase: seconds * MS for phase, seconds in phases.items()},
        "share": {phase: seconds / step for phase, seconds in phases.items()},
        "unaccounted_share": phases[OUTSIDE] / step,
        "parts": None if split is None else {part: seconds * MS for part, seconds in split.divide(phases).items()},
        "prediction": None,
    }
    if name != PLAIN:
        tokens_per_step = _tokens_per_pass(mine, name) / _tokens_per_pass(mine, PLAIN)
        found["prediction"] = _prediction(phases, plain, tokens_per_step, _measured(mine, name))
    return found


def _tokens_per_pass(samples: Sequence[Sample], name: str) -> float:
    return sum(s.decode_tokens(name) for s in samples) / sum(run.passes for s in samples for run in s.runs[name])


def mean_step(runs: Sequence[Run]) -> dict[str, float]:
    """Seconds of a step by phase; they add up to all that is not the prompts'."""
    passes = sum(run.passes for run in runs)
    names = list(dict.fromkeys(phase for run in runs for phase in run.phases))
    return {phase: sum(run.phases.get(phase, 0.0) for run in runs) / passes for phase in names}


def _prediction(
    phases: Mapping[str, float], plain: Mapping[str, float], tokens_per_step: float, measured: float
) -> dict[str, float]:
    pass_1 = plain[VERIFY]
    extra = phases[VERIFY] - pass_1 + phases[DRAFT] + phases[ACCEPT] + phases[COMMIT]
    predicted = tokens_per_step * pass_1 / (pass_1 + extra)
    return {
        "tokens_per_step": tokens_per_step,
        "plain_pass_ms": pass_1 * MS,
        "pass_ms": phases[VERIFY] * MS,
        "overhead_ms": extra * MS,
        "predicted_speedup": predicted,
        "measured_speedup": measured,
        "error": predicted / measured - 1,
    }


def _measured(samples: Sequence[Sample], name: str) -> float:
    tokens, seconds = (sum(s.decode_tokens(name) for s in samples), sum(s.decode_seconds(name) for s in samples))
    plain_tokens, plain_seconds = (sum(s.decode_tokens(PLAIN) for s in samples), sum(s.decode_seconds(PLAIN) for s in samples))
    return (tokens / seconds) / (plain_tokens / plain_seconds)
