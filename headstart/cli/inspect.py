"""``headstart inspect``: what a heads directory holds."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headstart.cli.report import to_json
from headstart.errors import HeadsError

if TYPE_CHECKING:
    from headstart.drafters.heads_directory import HeadsDirectory

BUDGETS = (2, 4, 8, 16, 32, 64)


def run(target: str = "bundled", /, *, json: bool = False) -> int:
    """Show heads: what they are made of, their tree, and what is expected of them.

    Parameters
    ----------
    target
        A heads directory, a hub id of one, or a model that has heads beside it ("bundled" for the bundled model's).
    json
        Print one JSON object.
    """
    directory = _open(target)
    record = _record(target, directory)
    print(to_json(record) if json else "\n".join(_page(record, directory)))
    return 0


def _open(target: str) -> "HeadsDirectory":
    # torch comes with these, and asking for help has to be quick
    from headstart.drafters.heads_directory import WEIGHTS, HeadsDirectory
    from headstart.finding_heads import find_heads

    path = Path(target).expanduser()
    is_model = target == "bundled" or path.is_file() or (path / "config.json").is_file()
    if not is_model or (path / WEIGHTS).is_file():
        return HeadsDirectory.from_pretrained(target)
    found = find_heads(target, "auto")
    if found is None:
        raise HeadsError(f"there are no heads beside {target!r}; name a heads directory, or make one: headstart train {target}")
    return found


def _record(target: str, directory: "HeadsDirectory") -> dict[str, Any]:
    heads, tree = directory.heads, directory.tree
    return {
        "target": target,
        "config": directory.config.to_dict(),
        "parameters": heads.num_parameters,
        "dtype": str(directory.dtype).removeprefix("torch."),
        "tree": {
            "nodes": len(tree),
            "depth": tree.depth,
            "width": tree.width,
            "recommended_nodes": directory.nodes,
            "paths": [list(path) for path in tree.paths],
        },
        "tokens_per_step": _tokens_per_step(directory),
        "positions": directory.total,
        "predicted": dict(directory.predicted),
    }


def _tokens_per_step(directory: "HeadsDirectory") -> dict[int, float]:
    """What trees of some sizes would emit a step, from the counts that the tree was grown from; empty without counts.

    A step emits the next root and one token for each node on the true continuation: 1 + the sum of the nodes' shares.
    """
    if not directory.total:
        return {}
    sizes = sorted({directory.nodes, len(directory.tree), *(size for size in BUDGETS if size <= len(directory.tree))})
    return {
        size: 1 + sum(directory.counts.get(path, 0) for path in directory.tree.limited(nodes=size).paths) / directory.total
        for size in sizes
    }


def _page(record: dict[str, Any], directory: "HeadsDirectory") -> list[str]:
    from headstart.cli.tree_drawing import draw  # see _open

    config, tree = directory.config, record["tree"]
    condition = f", reading the root's embedding ({config.condition_width} wide)" if config.condition_on_root else ""
    facts = {
        "base model": config.base_model or "not named",
        "heads": f"{config.num_heads} of {config.num_layers} {config.block} block(s){condition}",
        "projection": f"{config.projection}, over {config.projected_vocab:,} of {config.vocab_size:,} tokens",
        "hidden size": f"{config.hidden_size:,}",
        "parameters": f"{record['parameters']:,} ({record['dtype']})",
        "tree": f"{tree['nodes']} nodes, {tree['depth']} deep, {tree['width']} wide; {tree['recommended_nodes']} recommended",
    }
    lines = [f"{name:<12}{value}" for name, value in facts.items()]
    if record["tokens_per_step"]:
        lines += ["", f"tokens per step to be expected, from {record['positions']:,} positions:"]
        lines += [f"  {size:>3} nodes  {value:.2f}" for size, value in record["tokens_per_step"].items()]
    if record["predicted"]:
        lines += ["", "noted in training:", *(f"  {name}: {_shown(value)}" for name, value in record["predicted"].items())]
    return [*lines, "", "the tree, each node a head's guess by rank:", *draw(directory.tree)]


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(_shown(inner) for inner in value)
    return str(value)
