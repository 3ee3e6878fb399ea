"""``headstart simulate``: the arithmetic of guessing, for people who plan."""

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headstart.cli.report import to_json
from headstart.errors import HeadsError, InvalidParameterError

if TYPE_CHECKING:
    from headstart.cli.simulate_page import Plan
    from headstart.trees.shape import Path


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class PlanFlags:
    """What is assumed, and what is asked."""

    head: tuple[str, ...] = ()
    """How often the truth is among a head's first 1, 2, ... guesses, as in 0.6,0.75,0.85; once a head, instead of --heads."""
    heads: str = "auto"
    """Heads (a directory or a hub id) whose own counts are taken; "auto" is the bundled model's."""
    extra_head: str | None = None
    """The accuracies of a head more, to see what it would gain."""
    tokens_per_step: float | None = None
    """Of something else to compare with, whatever its tree."""
    widths: str = "2,3"
    """Full trees: every combination of so many guesses of each head."""
    nodes: str = "4,8,16,32,64"
    """Sparse trees: the best ones of so many nodes, the root included."""
    node_cost: float = 0.0
    """What each node but the root adds to a pass, in plain passes."""
    overhead: float = 0.0
    """What every step adds, in plain passes."""
    level_cost: float = 0.0
    """What each level of a tree adds, in plain passes, where drafting goes on from its own guesses: a pass of a draft model."""
    pass_ms: float | None = None
    """A plain pass in milliseconds: 20 is 50 tokens per second."""
    overhead_ms: float = 0.0
    """What every step adds, in milliseconds; needs --pass-ms."""
    tokens: int = 100
    """Tokens of an answer, to count passes and seconds for."""
    price: float | None = None
    """Of an hour of the machine."""
    hours: float = 0.0
    """Hours that plain decoding takes, to see what is saved; needs --price."""
    steps: int = 0
    """Steps to draw at random for each tree, as a check."""
    seed: int = 1
    """Of those."""


def run(*, json: bool = False, flags: Annotated[PlanFlags, Parameter(name="*")] = PlanFlags()) -> int:
    """Tokens per step, speed-ups, passes and costs of chains and trees, from accuracies and rules of thumb; nothing is measured.

    What this machine makes of it is measured by `headstart tune`.

    Parameters
    ----------
    json
        Print one JSON object.
    """
    from headstart.cli.simulate_page import plan_page, plan_record  # torch comes with it, and asking for help has to be quick

    plan = _plan(flags)
    if json:
        print(to_json(plan_record(plan)))
    else:
        print("\n".join(plan_page(plan)))
    return 0


def _plan(flags: PlanFlags) -> "Plan":
    from headstart.cli.simulate_page import Plan  # see run
    from headstart.tuning.bill import Bill
    from headstart.tuning.step_cost import StepCost

    if flags.pass_ms is not None and not 0 < flags.pass_ms < inf:
        raise InvalidParameterError(f"pass-ms is {flags.pass_ms}; expected milliseconds above 0")
    if flags.overhead_ms and flags.pass_ms is None:
        raise InvalidParameterError("overhead-ms needs pass-ms, which it is added to; or give --overhead, a share of a pass")
    if flags.hours and flags.price is None:
        raise InvalidParameterError("hours need a price: give --price, of an hour")
    if flags.tokens_per_step is not None and not 1 <= flags.tokens_per_step < inf:
        raise InvalidParameterError(f"tokens-per-step is {flags.tokens_per_step}; expected at least 1, which is plain decoding")
    if min(flags.tokens, 1) < 1 or flags.steps < 0:
        raise InvalidParameterError(f"{flags.tokens} tokens and {flags.steps} steps; expected at least 1 and at least 0")
    overhead = flags.overhead + (flags.overhead_ms / flags.pass_ms if flags.pass_ms else 0.0)
    source, chances = _chances(flags)
    return Plan(
        source=source,
        chances=chances,
        extra_head=_numbers(flags.extra_head, "extra-head") if flags.extra_head else None,
        given=flags.tokens_per_step,
        widths=_whole(flags.widths, "widths"),
        nodes=_whole(flags.nodes, "nodes"),
        cost=StepCost(per_node=flags.node_cost, overhead=overhead, per_level=flags.level_cost),
        pass_seconds=None if flags.pass_ms is None else flags.pass_ms / 1e3,
        tokens=flags.tokens,
        bill=None if flags.price is None else Bill(price=flags.price, hours=flags.hours),
        steps=flags.steps,
        seed=flags.seed,
    )


def _chances(flags: PlanFlags) -> tuple[str, "dict[Path, float]"]:
    """Where they come from, and the chances themselves."""
    from headstart.tuning.chances import chances_of, counted  # see run

    if flags.head:
        return f"{len(flags.head)} heads as given", chances_of([_numbers(text, "head") for text in flags.head])
    from headstart.cli.tune import heads_place
    from headstart.drafters.heads_directory import HeadsDirectory

    place = heads_place("bundled", flags.heads)
    found = HeadsDirectory.from_pretrained(place)
    if not found.total:
        raise HeadsError(
            f"nothing was counted for the heads in {place}: run `headstart tune` with them, or give accuracies with --head"
        )
    return f"{found.total:,} positions counted for {place}", counted(found.counts, found.total)


def _numbers(text: str, name: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError as error:
        raise InvalidParameterError(f"{name} is {text!r}; expected numbers such as 0.6,0.75,0.85") from error


def _whole(text: str, name: str) -> list[int]:
    try:
        found = [int(part) for part in text.split(",") if part]
    except ValueError as error:
        raise InvalidParameterError(f"{name} is {text!r}; expected whole numbers such as 4,8,16") from error
    if any(number < 1 for number in found):
        raise InvalidParameterError(f"{name} is {text!r}; expected numbers from 1")
    return found
