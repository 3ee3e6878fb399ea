"""Where the time of a real decode step goes, phase by phase."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headstart.completion import PHASES
from headstart.errors import InvalidParameterError, PromptError
from headstart.llm import LLM
from headstart.tuning.pass_split import PassSplit, pass_split


@dataclass(frozen=True, kw_only=True)
class StepProfile:
    """Means over the steps of one text, in seconds a step."""

    drafter: str
    nodes: int
    """The largest tree of the text, the root included."""
    steps: int
    emitted: int
    phases: dict[str, float]
    """draft, verify, accept, commit, other."""
    verify: PassSplit | None
    """How a pass of so many nodes divides up, measured by itself; None on an accelerator."""

    @property
    def step(self) -> float:
        """Of all phases."""
        return sum(self.phases.values())

    @property
    def tokens_per_step(self) -> float:
        return (self.emitted - 1) / self.steps

    def share(self, phase: str) -> float:
        return self.phases[phase] / self.step

    @property
    def outside(self) -> float:
        """The share of a step that is neither drafting nor the base model's pass."""
        return 1.0 - self.share("draft") - self.share("verify")


def step_profile(
    llm: LLM, prompt_ids: Sequence[int], *, drafter: str | None = None, tokens: int = 64, **options: Any
) -> StepProfile:
    """Write ``tokens`` tokens after a prompt, twice, and look at the second text. The LLM must not be in use meanwhile.

    ``drafter`` None takes what the LLM was loaded with; ``options`` are those of ``LLM.generate`` (``nodes``, ``threads``).

    Raises:
        InvalidParameterError: the text had no step (``tokens`` below 2, or no room in the context).
        PromptError, CapacityError: as in ``LLM.generate``.
    """
    drafter = drafter or llm.drafter
    options = {"drafter": drafter, "max_new_tokens": tokens, "ignore_eos": True, "stop_ids": (), **options}
    ids = list(prompt_ids)
    if not ids:
        raise PromptError("the prompt is empty; give at least one token")
    llm.generate(ids, **options)
    stats = llm.generate(ids, **options).stats
    if not stats.steps:
        raise InvalidParameterError(f"{stats.emitted_tokens} token(s) after a prompt of {len(ids)}: no step; ask for more tokens")
    nodes = 1 + round(stats.proposed_tokens / stats.steps)
    return StepProfile(
        drafter=drafter,
        nodes=nodes,
        steps=stats.steps,
        emitted=stats.emitted_tokens,
        phases={phase: stats.seconds[phase] / stats.steps for phase in PHASES if phase != "prefill"},
        verify=pass_split(llm.model, nodes=nodes, context=len(ids) + tokens // 2),
    )
