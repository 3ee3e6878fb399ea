"""What ``headstart inspect`` says of heads."""

from typing import Any

from headstart.cli.tree_drawing import draw
from headstart.drafters.heads_directory import HeadsDirectory
from headstart.drafters.kinds import AnyConfig
from headstart.drafters.mtp_heads import MtpConfig
from headstart.drafters.tuned import KEY
from headstart.models.dtype import dtype_name

BUDGETS = (2, 4, 8, 16, 32, 64)


def heads_record(directory: HeadsDirectory) -> dict[str, Any]:
    """Everything known of heads, ready for JSON."""
    heads, tree = directory.heads, directory.tree
    return {
        "config": directory.config.to_dict(),
        "parameters": heads.num_parameters,
        "dtype": dtype_name(directory.dtype),
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


def heads_page(record: dict[str, Any], directory: HeadsDirectory) -> list[str]:
    """The same in lines for people."""
    config, tree = directory.config, record["tree"]
    heads, projection = _made_of(config)
    facts = {
        "base model": config.base_model or "not named",
        "heads": f"{config.num_heads} of {heads}",
        "projection": f"{projection}, over {config.projected_vocab:,} of {config.vocab_size:,} tokens",
        "hidden size": f"{config.hidden_size:,}",
        "parameters": f"{record['parameters']:,} ({record['dtype']})",
        "tree": f"{tree['nodes']} nodes, {tree['depth']} deep, {tree['width']} wide; {tree['recommended_nodes']} recommended",
    }
    lines = [f"{name:<12}{value}" for name, value in facts.items()]
    if record["tokens_per_step"]:
        lines += ["", f"tokens per step to be expected, from {record['positions']:,} positions:"]
        lines += [f"  {size:>3} nodes  {value:.2f}" for size, value in record["tokens_per_step"].items()]
    if (tuned := directory.tree_file.tuned) is not None:
        here = tuned.conditions
        lines += ["", f"tuned for {here.dtype}, {here.threads} thread(s) of {here.processor}; nodes by texts at once:"]
        lines += [f"  {name}: {_shown(tuned.chosen(name))}" for name in tuned.tables]
    if noted := {name: value for name, value in record["predicted"].items() if name != KEY}:
        lines += ["", "noted in training:", *(f"  {name}: {_shown(value)}" for name, value in noted.items())]
    return [*lines, "", "the tree, each node a head's guess by rank:", *draw(directory.tree)]


def _made_of(config: AnyConfig) -> tuple[str, str]:
    """A head, and the projection behind it."""
    if isinstance(config, MtpConfig):
        return f"a transformer layer ({config.attention_heads} attention heads) on the trunk", "shared"
    condition = f", reading the root's embedding ({config.condition_width} wide)" if config.condition_on_root else ""
    rank = f" (rank {config.rank})" if config.projection == "low-rank" else ""
    return f"{config.num_layers} {config.block} block(s){condition}", config.projection + rank


def _tokens_per_step(directory: HeadsDirectory) -> dict[int, float]:
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


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {_shown(inner)}" for key, inner in value.items())
    if isinstance(value, (list, tuple)):
        return " ".join(_shown(inner) for inner in value)
    return str(value)
