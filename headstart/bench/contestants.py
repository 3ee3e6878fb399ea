"""Who takes part: our engine with any of its drafters, and transformers' ``generate``.

A name is ``DRAFTER[@NODES][+ACCEPTANCE]``, "plain", "draft-model:DIR", or one of transformers' ways.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from headstart.acceptance.rules import RULES, rule_of
from headstart.bench.decoding import decode
from headstart.bench.run import Run
from headstart.bench.transformers_way import TransformersWay
from headstart.drafters.named import chosen_drafter
from headstart.errors import InvalidParameterError
from headstart.llm import LLM
from headstart.models.source import find, load_pretrained
from headstart.request import Request
from headstart.sampling.noise import fold
from headstart.sampling.params import SamplingParams

PLAIN = "plain"
TRANSFORMERS, LOOKUP = "transformers", "prompt-lookup"
THEIRS = (TRANSFORMERS, LOOKUP)
DRAFT_MODEL = "draft-model"
AGAIN = "plain again"
"""Plain decoding of the same prompts a second time, which tells how far the machine agrees with itself."""


@dataclass(frozen=True, kw_only=True)
class About:
    """What a reader has to know of a contestant."""

    name: str
    ours: bool
    drafter: str
    """"none" is plain decoding; empty for transformers' ways."""
    nodes: int | None = None
    """Of a pass, the root included; None is what was tuned, or begins with what the heads recommend."""
    acceptance: str = "exact"
    lossy: bool = False
    """Whether its text may be another than the model's own by its very rule."""

    @property
    def follows_noise(self) -> bool:
        """Whether it draws by the noise of plain decoding, so that equal seeds can give equal texts above temperature 0."""
        return self.ours and not rule_of(self.acceptance, {}).draws

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def about(name: str, llm: LLM) -> About:
    """Take a name apart; "auto" is what the model was loaded with.

    Raises:
        InvalidParameterError: there is no such contestant, or the model has not what it needs.
    """
    if name in THEIRS:
        return About(name=name, ours=False, drafter="")
    rest, plus, acceptance = name.partition("+")
    acceptance = acceptance if plus else "exact"
    rest, at, count = rest.rpartition("@") if "@" in rest else (rest, "", "")
    if at and not count.isdecimal():
        raise InvalidParameterError(f"{name!r}: {count!r} is no number of nodes; expected for instance medusa@8")
    rule = rule_of(acceptance, {})
    drafter = "none" if rest == PLAIN else DRAFT_MODEL if rest.startswith(f"{DRAFT_MODEL}:") else rest
    if drafter not in ("auto", *llm.engine.drafters):
        known = ", ".join((PLAIN, *sorted(set(llm.engine.drafters) - {"none"}), *THEIRS, f"{DRAFT_MODEL}:DIR"))
        raise InvalidParameterError(
            f"contestant {name!r} is not known here; expected some of {known}, with @NODES for a size of trees and +RULE for"
            f" a rule of acceptance ({', '.join(RULES)}). Drafters of heads need --heads"
        )
    drafter = llm.drafter if drafter == "auto" else chosen_drafter(drafter, llm.engine.drafters)
    return About(
        name=_written(PLAIN if drafter == "none" else rest if drafter == DRAFT_MODEL else drafter, count, plus and acceptance),
        ours=True,
        drafter=drafter,
        nodes=int(count) if at else None,
        acceptance=acceptance,
        lossy=rule.lossy,
    )


def _written(drafter: str, count: str, rule: str) -> str:
    return drafter + (f"@{count}" if count else "") + (f"+{rule}" if rule else "")


class Contestant(Protocol):
    """Decodes batches."""

    def decode(self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int, temperature: float, seeds: Sequence[int]) -> Run:
        """All prompts at once, each with its own seed."""


class OurWay:
    """Our engine with one drafter."""

    def __init__(self, llm: LLM, facts: About) -> None:
        self._llm, self._about = llm, facts
        self._stop_ids = stop_ids(llm)

    def decode(self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int, temperature: float, seeds: Sequence[int]) -> Run:
        requests = self.requests(prompts, max_new_tokens=max_new_tokens, temperature=temperature, seeds=seeds)
        return decode(self._llm.engine, self._llm.tokenizer, requests)

    def requests(
        self, prompts: Sequence[Sequence[int]], *, max_new_tokens: int, temperature: float, seeds: Sequence[int]
    ) -> list[Request]:
        """What the engine is asked for."""
        return [
            Request(
                prompt_ids=ids,
                params=SamplingParams(temperature=temperature),
                seed=fold(seed, 0),
                max_new_tokens=max_new_tokens,
                stop_ids=self._stop_ids,
                drafter=self._about.drafter,
                nodes=self._about.nodes,
                acceptance=self._about.acceptance,
            )
            for ids, seed in zip(prompts, seeds, strict=True)
        ]


def stop_ids(llm: LLM) -> frozenset[int]:
    """What ends a text, for every contestant."""
    end_of_turn = frozenset[int]() if llm.tokenizer is None else llm.tokenizer.end_of_turn_ids
    return frozenset(llm.model.facts.eos_ids) | end_of_turn


def contestants(llm: LLM, who: Sequence[About], model: str) -> dict[str, Contestant]:
    """By name. transformers' model is loaded only where somebody needs it, once, in the precision of ours.

    Raises what loading raises.
    """
    found: dict[str, Contestant] = {}
    theirs: Callable[[bool], TransformersWay] | None = None
    for each in who:
        if each.ours:
            found[each.name] = OurWay(llm, each)
            continue
        theirs = theirs or _theirs(llm, model)
        found[each.name] = theirs(each.name == LOOKUP)
    return found


def _theirs(llm: LLM, model: str) -> Callable[[bool], TransformersWay]:
    facts = llm.model.facts
    pretrained, _, _ = load_pretrained(find(model), facts.dtype, facts.device)
    stops = stop_ids(llm)
    return lambda lookup: TransformersWay(pretrained, llm.tokenizer, stop_ids=stops, lookup=lookup)


def takes(facts: About, rows: int) -> bool:
    """Whether it can decode so many texts at once; transformers' prompt lookup takes one."""
    return rows == 1 or facts.name != LOOKUP
