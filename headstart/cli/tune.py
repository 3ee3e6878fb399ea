"""``headstart tune``: which trees are fastest on this machine, for each number of texts at once."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from headstart.cli.options import ModelOptions
from headstart.cli.report import to_json
from headstart.errors import HeadsError, InvalidParameterError
from headstart.ranges import check_least

if TYPE_CHECKING:
    from headstart.tuning.tune_result import TuneResult

PLOT, PICTURE = "tuned.png", "tree.png"


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class TuneFlags:
    """What to look at and for how long."""

    prompts: Path | None = None
    """JSON lines to tune on, with "turns" (as in Spec-Bench), "messages", "prompt" or "text"; by default a bundled set."""
    batch: str = "1,2,4,8"
    """Numbers of texts decoded at once to choose for."""
    max_nodes: int = 64
    """The largest tree to look at, the root included."""
    tokens: int = 128
    """Tokens to write after each prompt."""
    temperature: float = 0.0
    """Temperature of the texts."""
    seed: int = 0
    """Decides which half of the prompts is learned from and, above temperature 0, what is drawn."""
    quick: Annotated[bool, Parameter(negative="")] = False
    """Fewer prompts, sizes and repeats: a minute instead of several, and less sure."""
    threads: int | None = None
    """CPU threads; by default torch's number, but no more than there are physical cores."""


def run(
    model: str = "bundled",
    /,
    *,
    output: Path | None = None,
    json: bool = False,
    flags: TuneFlags = TuneFlags(),
    options: ModelOptions = ModelOptions(),
) -> int:
    """Measure this machine and choose the trees that give the most tokens per second, down to plain decoding where none pays.

    Run it while nothing else runs. What is chosen goes into the heads' tree.json and holds for this machine, this precision and
    this number of threads; elsewhere it is not used, and a warning says so.

    Parameters
    ----------
    model
        A model ("bundled", a directory, a hub id, a GGUF file) that has heads.
    output
        Write a copy of the heads there; by default their own tree.json is replaced.
    json
        Print one JSON object.
    """
    batch = _batch(flags.batch)
    check_least(flags, 1, "threads")
    # torch comes with these, and asking for help has to be quick
    from headstart.drafters.heads_directory import TREE, HeadsDirectory
    from headstart.models.threads import cpu_threads
    from headstart.tuning.prompts import read_prompts
    from headstart.tuning.tune import Tuning
    from headstart.tuning.tune_options import TuneOptions

    tune_options = TuneOptions(
        batch=batch,
        max_nodes=flags.max_nodes,
        tokens=flags.tokens,
        temperature=flags.temperature,
        seed=flags.seed,
        quick=flags.quick,
    )
    prompts = read_prompts(flags.prompts)
    source = heads_place(model, options.heads)
    target = _target(source, output)
    heads = HeadsDirectory.from_pretrained(source)
    with cpu_threads(flags.threads) as in_use:
        llm = replace(options, heads="none").load(model, drafter="none", threads=in_use)
        if llm.tokenizer is None:
            raise InvalidParameterError(f"{model} came without a tokenizer, and prompts are texts; put one beside the model")
        tokenizer = llm.tokenizer
        tuning = Tuning(
            llm.model,
            heads,
            [prompt.ids(tokenizer) for prompt in prompts],
            options=tune_options,
            stop_ids=frozenset(llm.model.facts.eos_ids) | tokenizer.end_of_turn_ids,
            source="bundled" if flags.prompts is None else flags.prompts.name,
            say=_say,
        )
        result = tuning.choose()
        if output is not None:
            copy = HeadsDirectory.from_pretrained(source)
            copy.tree_file = result.tree_file
            copy.save_pretrained(output)
        result.tree_file.write(target / TREE)
        result = tuning.check(result)
        result.tree_file.write(target / TREE)
    _show(result, target, json=json)
    return 0


def heads_place(model: str, heads: str) -> str:
    """A directory or hub id of the heads that go with a model, by their name or "auto".

    Raises:
        HeadsError: there are none.
    """
    from headstart.finding_heads import heads_beside  # see run

    if heads not in ("auto", "none"):
        return heads
    place = heads_beside(model) if heads == "auto" else None
    if place is not None:
        return str(place)
    raise HeadsError(f"no heads for {model}, so there is no tree to tune; name them with --heads, or train some: headstart train")


def _target(source: str, output: Path | None) -> Path:
    """Where results go; that it can be written is found out now and not after minutes."""
    if output is None and not Path(source).expanduser().is_dir():
        raise HeadsError(f"{source} is no directory here, so its tree.json cannot be replaced; give --output DIR for a copy")
    target = Path(source).expanduser() if output is None else output
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise HeadsError(f"cannot write to {target}: {error.strerror or error}; give another --output") from error
    if not os.access(target, os.W_OK):
        raise HeadsError(f"cannot write to {target}: no permission; give --output DIR for a copy of the heads")
    return target


def _batch(text: str) -> tuple[int, ...]:
    try:
        return tuple(sorted({int(part) for part in text.split(",")}))
    except ValueError as error:
        raise InvalidParameterError(f"batch is {text!r}; expected numbers of texts, for instance 1,2,4,8") from error


def _say(line: str) -> None:
    print(f"{line} ...", file=sys.stderr, flush=True)


def _show(result: "TuneResult", target: Path, *, json: bool) -> None:
    from rich.console import Console  # see run

    from headstart.cli.tree_drawing import draw
    from headstart.cli.tune_page import chosen_tree, tune_page, tune_record
    from headstart.tuning.plot import plot_lines, plot_trade_off

    shape = chosen_tree(result)
    title = f"the tree of {len(shape)} nodes, each a head's guess by rank"
    plotted = plot_trade_off(result.table, target / PLOT) and plot_lines(draw(shape), title, target / PICTURE)
    if json:
        print(to_json({"directory": str(target), **tune_record(result)}))
        return
    console = Console()
    for part in tune_page(result):
        console.print(part, highlight=False, markup=False, soft_wrap=isinstance(part, str))
    pictures = f", {PLOT} and {PICTURE} beside it" if plotted else "; no pictures: matplotlib is missing (pip install matplotlib)"
    print(f"\nwritten to {target / 'tree.json'}{pictures}")
