"""A candidate tree drawn with characters."""

from headstart.trees.shape import Path, TreeShape


def draw(tree: TreeShape) -> list[str]:
    """One line a node, the root first; a node shows which of its head's guesses it is, from 1, beneath what it follows."""
    children: dict[Path, list[Path]] = {}
    for path in sorted(tree.paths):
        children.setdefault(path[:-1], []).append(path)
    lines = ["root"]

    def branch(parent: Path, indent: str) -> None:
        below = children.get(parent, [])
        for path in below:
            last = path == below[-1]
            lines.append(f"{indent}{'`' if last else '|'}-- {path[-1] + 1}")
            branch(path, indent + ("    " if last else "|   "))

    branch((), "")
    return lines
