"""The rules of acceptance by name.

Shapes: B rows, N nodes, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Protocol

import torch

from headstart.acceptance.rejection import Rejection
from headstart.acceptance.threshold import Threshold
from headstart.acceptance.typical import Typical
from headstart.acceptance.walk import Accepted, Exact
from headstart.errors import InvalidParameterError
from headstart.sampling.row import RowSampling
from headstart.trees.candidate import CandidateTree


class Rule(Protocol):
    """Which path of a verified tree is kept, and what the next root is. A pure function; its fields are its parameters."""

    name: ClassVar[str]
    lossy: ClassVar[bool]
    """Whether the text can be another than the base model's own, in distribution."""
    draws: ClassVar[bool]
    """Whether candidates have to be drawn at random by the drafter."""

    def accept(self, tree: CandidateTree, logits_BNV: torch.Tensor, rows: Sequence[RowSampling | None]) -> list[Accepted | None]:
        """``rows[b]`` is None for a row of padding or of another rule, whose result is None."""


RULES: dict[str, type[Exact] | type[Rejection] | type[Typical] | type[Threshold]] = {
    Exact.name: Exact,
    Rejection.name: Rejection,
    Typical.name: Typical,
    Threshold.name: Threshold,
}


def rule_of(name: str, options: Mapping[str, float]) -> Rule:
    """The rule of that name with those parameters.

    Raises:
        InvalidParameterError: there is no such rule, it has no such parameter, or the value is outside its range.
    """
    if name not in RULES:
        known = ", ".join(rule.name if rule is Exact else f"{rule.name} ({promise(rule)})" for rule in RULES.values())
        raise InvalidParameterError(f"acceptance {name!r} is not known; expected one of {known}")
    rule = RULES[name]
    own = [field.name for field in fields(rule)]
    foreign = sorted(set(options) - set(own))
    if foreign:
        raise InvalidParameterError(
            f"{foreign[0]} is no parameter of the acceptance {name!r}, which has {', '.join(own) or 'none'}; leave it out, or"
            f" choose {_owner(foreign[0])}"
        )
    given: dict[str, Any] = dict(options)
    return rule(**given)


def promise(rule: Rule | type[Rule]) -> str:
    """In how far the text is the base model's own, for people."""
    if rule.lossy:
        return "lossy"
    return "exact in distribution" if rule.draws else "exact"


def _owner(option: str) -> str:
    owners = [rule.name for rule in RULES.values() if option in {field.name for field in fields(rule)}]
    return f"acceptance={owners[0]!r}" if owners else "another rule"


def accept(
    tree: CandidateTree, logits_BNV: torch.Tensor, rows: Sequence[RowSampling | None], rules: Sequence[Rule | None]
) -> list[Accepted | None]:
    """Each row by its own rule; None for a row of padding, for which both are None."""
    outcomes: list[Accepted | None] = [None] * len(rows)
    for rule in dict.fromkeys(rule for rule in rules if rule is not None):
        mine = [row if own == rule else None for row, own in zip(rows, rules, strict=True)]
        for b, accepted in enumerate(rule.accept(tree, logits_BNV, mine)):
            outcomes[b] = accepted if mine[b] is not None else outcomes[b]
    return outcomes
