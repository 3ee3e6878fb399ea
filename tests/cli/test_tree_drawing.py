"""Trees as text."""

from headstart.cli.tree_drawing import draw
from headstart.trees.shape import TreeShape


def test_every_node_has_a_line_under_its_parent() -> None:
    # ranks are shown from 1; children come in order of rank, whatever the order of the list
    tree = TreeShape([[1], [0], [0, 0], [0, 2], [0, 2, 0]])
    assert draw(tree) == [
        "root",
        "|-- 1",
        "|   |-- 1",
        "|   `-- 3",
        "|       `-- 1",
        "`-- 2",
    ]


def test_a_lone_root() -> None:
    assert draw(TreeShape([])) == ["root"]
