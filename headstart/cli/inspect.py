"""``headstart inspect``: what a model or a heads directory is, and with --speed how fast it is here and why."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headstart.cli.options import ModelOptions
from headstart.cli.report import to_json
from headstart.errors import HeadsError, InvalidParameterError, ModelNotFoundError

if TYPE_CHECKING:
    from headstart.drafters.heads_directory import HeadsDirectory


def run(
    target: str = "bundled",
    /,
    *,
    speed: bool = False,
    threads: int | None = None,
    json: bool = False,
    options: ModelOptions = ModelOptions(),
) -> int:
    """Show a model: which decoder runs it, in what format, and whether equal bits hold here. And its heads, where it has some.

    Of a heads directory alone: what the heads are made of, their tree, and what is expected of them.

    Parameters
    ----------
    target
        A model ("bundled", a directory, a hub id, a GGUF file), or heads (a directory, a hub id).
    speed
        Measure too: memory bandwidth, the floor of a step, passes over 1 to 64 nodes, where the time of a step goes.
    threads
        CPU threads; by default torch's number, but no more than there are physical cores.
    json
        Print one JSON object.
    """
    if threads is not None and threads < 1:
        raise InvalidParameterError(f"threads is {threads}; expected at least 1")
    heads = _heads_named_by(target)
    if heads is None:
        return _inspect_model(target, options, target, speed=speed, threads=threads, json=json)
    if speed:
        base = heads.config.base_model
        if not base:
            raise HeadsError(
                f"the heads in {target!r} do not name their base model; to measure them, name it yourself:"
                f" headstart inspect MODEL --heads {target} --speed"
            )
        return _inspect_model(base, replace(options, heads=target), target, speed=True, threads=threads, json=json)
    _show_heads(target, heads, json=json)
    return 0


def _inspect_model(model: str, options: ModelOptions, target: str, *, speed: bool, threads: int | None, json: bool) -> int:
    # torch comes with these, and asking for help has to be quick
    from rich.console import Console

    from headstart.cli.heads_page import heads_page, heads_record
    from headstart.cli.model_page import model_page, model_record
    from headstart.models.threads import cpu_threads
    from headstart.tuning.pass_bytes import PassBytes

    with cpu_threads(threads) as in_use:
        llm = options.load(model, threads=in_use)
        about_model = model_record(llm)
        about_heads = None if llm.heads is None else heads_record(llm.heads)
        about_speed = None
        if speed:
            from headstart.cli.speed_page import speed_page, speed_record

            size = PassBytes(about_model["weight_bytes_per_pass"], about_model["cache_bytes_per_position"])
            about_speed = speed_record(llm, size)
    if json:
        print(to_json({"target": target, "model": about_model, "heads": about_heads, "speed": about_speed}))
        return 0
    print("\n".join(model_page(about_model)))
    if about_speed is not None:
        console = Console()
        print()
        for part in speed_page(about_speed):
            console.print(part, highlight=False, markup=False, soft_wrap=isinstance(part, str))
    if llm.heads is not None and about_heads is not None:
        print("\n" + "\n".join(heads_page(about_heads, llm.heads)))
    return 0


def _show_heads(target: str, heads: "HeadsDirectory", *, json: bool) -> None:
    from headstart.cli.heads_page import heads_page, heads_record  # see _inspect_model

    record = heads_record(heads)
    if json:
        print(to_json({"target": target, "model": None, "heads": record, "speed": None}))
    else:
        print("\n".join(heads_page(record, heads)))


def _heads_named_by(target: str) -> "HeadsDirectory | None":
    """The heads, where ``target`` means heads; None where it is a model's."""
    from headstart.drafters.heads_directory import TREE, WEIGHTS, HeadsDirectory  # see _inspect_model

    path = Path(target).expanduser()
    if (path / WEIGHTS).is_file() or (path / TREE).is_file():
        return HeadsDirectory.from_pretrained(target)
    if target == "bundled" or path.exists():
        return None
    try:
        return HeadsDirectory.from_pretrained(target)
    except HeadsError as no_heads:  # a hub id can be either: only asking tells
        from headstart.models.source import find

        try:
            find(target)
        except ModelNotFoundError as no_model:
            raise ModelNotFoundError(f"{target!r} is neither heads nor a model: {no_heads}. {no_model}") from no_model
        return None
