"""What ``headstart simulate`` works out and says."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from random import Random
from typing import Any

from headstart.errors import InvalidParameterError
from headstart.trees.search import expected_tokens, grow
from headstart.trees.shape import Path, TreeShape
from headstart.tuning.bill import Bill, passes, saved_share
from headstart.tuning.chances import MOST_PATHS, with_another_head
from headstart.tuning.choice import choose_tree
from headstart.tuning.monte_carlo import drawn_tokens
from headstart.tuning.step_cost import StepCost


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Assumptions and questions."""

    source: str
    chances: Mapping[Path, float]
    extra_head: Sequence[float] | None
    given: float | None
    """Tokens per step of something else."""
    widths: Sequence[int]
    nodes: Sequence[int]
    cost: StepCost
    pass_seconds: float | None
    tokens: int
    bill: Bill | None
    steps: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class Line:
    """One tree and what comes of it."""

    name: str
    nodes: int | None
    """The root included; None where no tree is known."""
    depth: int | None
    tokens_per_step: float
    speedup: float
    passes: float
    gain: float | None = None
    """Tokens per step that the extra head adds."""
    drawn: float | None = None
    drawn_error: float | None = None
    drawn_speedup: float | None = None
    tokens_per_second: float | None = None
    seconds: float | None = None
    per_million: float | None = None
    saved: float | None = None


def lines(plan: Plan) -> list[Line]:
    """Plain decoding, the chain, full trees, sparse trees, the fastest, and what was given; random draws are made in this order."""
    random = Random(plan.seed)
    more = None if plan.extra_head is None else with_another_head(plan.chances, plan.extra_head)
    deeper = {} if more is None else {name: expected_tokens(shape, more, 1) for name, shape in _trees(plan, more)}
    found = [_line(plan, "plain", TreeShape([]), 1.0)]
    for name, shape in _trees(plan, plan.chances):
        drawn = drawn_tokens(shape, plan.chances, plan.steps, random) if plan.steps else None
        tokens = expected_tokens(shape, plan.chances, 1)
        found.append(_line(plan, name, shape, tokens, drawn, deeper[name] - tokens if name in deeper else None))
    fastest = _fastest(plan)
    found.append(_line(plan, "fastest", fastest, expected_tokens(fastest, plan.chances, 1)))
    if plan.given is not None:
        found.append(_line(plan, "given", None, plan.given))
    return found


def plan_record(plan: Plan) -> dict[str, Any]:
    """Everything, ready for JSON."""
    record: dict[str, Any] = {"source": plan.source, "cost": asdict(plan.cost), "tokens": plan.tokens}
    if plan.bill is not None:
        record["bill"] = {**asdict(plan.bill), "total": plan.bill.total}
    return {**record, "steps": plan.steps, "seed": plan.seed, "lines": [asdict(line) for line in lines(plan)]}


def plan_page(plan: Plan) -> Iterator[str]:
    """The same for people."""
    found = lines(plan)
    yield f"{plan.source}; nodes count the root, tokens per step count the token that every step is sure of"
    columns = {
        "nodes": [str(line.nodes or "") for line in found],
        "deep": ["" if line.depth is None else str(line.depth) for line in found],
        "tokens/step": [f"{line.tokens_per_step:.2f}" for line in found],
        "extra head": [_shown(line.gain, "+{:.3f}") for line in found],
        "drawn": [_shown(line.drawn, "{:.2f}") for line in found],
        "+-": [_shown(line.drawn_error, "{:.3f}") for line in found],
        "drawn x": [_shown(line.drawn_speedup, "{:.2f}") for line in found],
        "speed-up": [f"{line.speedup:.2f}" for line in found],
        f"passes/{plan.tokens}": [f"{line.passes:.1f}" for line in found],
        "tokens/s": [_shown(line.tokens_per_second, "{:.1f}") for line in found],
        "seconds": [_shown(line.seconds, "{:.2f}") for line in found],
        "price/1M": [_shown(line.per_million, "{:.2f}") for line in found],
        "saved": [_shown(line.saved, "{:,.0f}") for line in found],
    }
    shown = {heading: values for heading, values in columns.items() if any(values)}
    names = [line.name for line in found]
    widths = {heading: max(len(heading), *map(len, values)) for heading, values in shown.items()}
    first = max(map(len, names))
    yield ""
    yield "  ".join([" " * first, *(heading.rjust(widths[heading]) for heading in shown)])
    for row, name in enumerate(names):
        yield "  ".join([name.ljust(first), *(values[row].rjust(widths[heading]) for heading, values in shown.items())])
    yield ""
    yield f"a step costs {_cost(plan.cost)}, in plain passes"
    if plan.bill is not None and plan.bill.hours:
        yield f"plain decoding: {plan.bill.hours:,.0f} hours, {plan.bill.total:,.0f}"


def _trees(plan: Plan, chances: Mapping[Path, float]) -> Iterator[tuple[str, TreeShape]]:
    depth, ranks = max(map(len, chances)), max(path[-1] for path in chances) + 1
    yield "chain", TreeShape.chain(depth)
    for width in plan.widths:
        if width > ranks or width == 1:  # one guess of each head is the chain
            continue
        if sum(width**d for d in range(1, depth + 1)) > MOST_PATHS:
            raise InvalidParameterError(
                f"a full tree {width} wide and {depth} deep is too large; expected at most {MOST_PATHS:,} nodes"
            )
        yield f"full, {width} wide", TreeShape.full([width] * depth)
    for nodes in plan.nodes:
        shape = grow(chances, nodes)
        if len(shape) == nodes > 1:
            yield f"best of {nodes}", shape


def _fastest(plan: Plan) -> TreeShape:
    """Of all sizes up to the largest asked for, and of all depths."""
    cost = plan.cost
    most = max([2, *plan.nodes])
    depth = max(map(len, plan.chances))
    choice = choose_tree(
        plan.chances, 1, lambda nodes, levels: 1.0 if nodes == 1 else cost.of(nodes, levels), max_nodes=most, max_depth=depth
    )
    return choice.shape


def _line(
    plan: Plan,
    name: str,
    shape: TreeShape | None,
    tokens: float,
    drawn: tuple[float, float] | None = None,
    gain: float | None = None,
) -> Line:
    nodes, depth = (1, 0) if shape is None else (len(shape), shape.depth)
    speedup = 1.0 if shape is not None and nodes == 1 else plan.cost.speedup(tokens, nodes, depth)
    rate = None if plan.pass_seconds is None else speedup / plan.pass_seconds
    return Line(
        name=name,
        nodes=None if shape is None else nodes,
        depth=None if shape is None else depth,
        tokens_per_step=tokens,
        speedup=speedup,
        passes=passes(plan.tokens, tokens),
        gain=gain,
        drawn=None if drawn is None else drawn[0],
        drawn_error=None if drawn is None else drawn[1],
        drawn_speedup=None if drawn is None else plan.cost.speedup(drawn[0], nodes, depth),
        tokens_per_second=rate,
        seconds=None if rate is None else plan.tokens / rate,
        per_million=None if rate is None or plan.bill is None else plan.bill.per_million(rate),
        saved=plan.bill.saved(saved_share(speedup)) if plan.bill is not None and plan.bill.hours else None,
    )


def _cost(cost: StepCost) -> str:
    parts = ["1"] if not cost.overhead else ["1", f"{cost.overhead:g}"]
    parts += [f"{cost.per_node:g} for each node beside the root"] if cost.per_node else []
    parts += [f"{cost.per_level:g} for each level"] if cost.per_level else []
    return " + ".join(parts)


def _shown(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)
