"""The shape of the package: imports go down the ranks, nothing runs in circles, files stay small and say what they are."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "headstart"
PATHS = sorted(PACKAGE.rglob("*.py"))

RANKS: tuple[tuple[str, ...], ...] = (
    ("__main__",),
    ("cli",),
    ("__init__",),  # the public names: whoever is below imports what it needs from its home
    ("serve", "bench", "train", "interop"),
    ("tuning",),
    ("llm",),
    ("finding_heads", "job"),
    ("engine", "text"),
    ("drafters",),
    ("models", "acceptance"),
    ("request", "options"),  # both carry sampling parameters, so they stand above them
    ("sampling",),
    ("trees",),
    ("json_lines", "ranges"),
    ("completion", "errors", "finite", "version", "whole_file"),
)
"""Rooms and single files, top first. A module imports from its own room and from lines further down, never from its own line."""
RANK_OF = {room: rank for rank, rooms in enumerate(RANKS) for room in rooms}

MAX_LINES = 400
CATCH_ALL_NAMES = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}
FOREIGN_WORDS = re.compile(
    r"\b(this|previous|earlier|next|later) sessions?\b|\bissues?\s*#?\d|\bsub-?agents?\b|\bthe brief\b|\bfield[- ]notes\b"
    r"|\bsource-documents\b|design\.md|style\.md|/work/|/tmp/dev",
    re.IGNORECASE,
)
"""What speaks of how the project is made instead of what it is."""


def module_name(path: Path) -> str:
    """``headstart.trees.shape`` for ``headstart/trees/shape.py``, ``headstart.trees`` for the room's ``__init__.py``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room(module: str) -> str:
    """The room, or the single file, that a module belongs to."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def imports_of(source: str, modules: set[str]) -> set[str]:
    """Modules of the package that ``source`` imports anywhere: in functions and under TYPE_CHECKING as well."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            # `from headstart.trees import shape` means the module where there is one, else a name inside the room
            names = [inner if (inner := f"{node.module}.{alias.name}") in modules else node.module for alias in node.names]
        else:
            continue
        found.update(name for name in names if name in modules)
    return found


SOURCES = {module_name(path): path.read_text(encoding="utf-8") for path in PATHS}
GRAPH = {module: imports_of(source, set(SOURCES)) - {module} for module, source in SOURCES.items()}


def find_cycle(graph: dict[str, set[str]]) -> list[str] | None:
    """One cycle as the list of its modules, the first repeated at the end; None where there is none."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str] | None:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return None
        for imported in sorted(graph[module]):
            if cycle := visit(imported, [*path, module]):
                return cycle
        done.add(module)
        return None

    return next((cycle for module in sorted(graph) if (cycle := visit(module, []))), None)


def misplaced(graph: dict[str, set[str]]) -> list[str]:
    """Imports that go up, or sideways between rooms."""
    return [
        f"{module} imports {imported}"
        for module, targets in sorted(graph.items())
        for imported in sorted(targets)
        if room(module) != room(imported) and RANK_OF[room(imported)] <= RANK_OF[room(module)]
    ]


def test_every_room_has_a_rank() -> None:
    assert {room(module) for module in SOURCES} - set(RANK_OF) == set()


def test_no_import_cycles() -> None:
    assert find_cycle(GRAPH) is None


def test_imports_go_down_only() -> None:
    assert misplaced(GRAPH) == []


def test_lazy_and_type_checking_imports_count() -> None:
    # b imports a inside a function, a imports b for types only: at run time neither fails, and yet it is a circle
    sources = {
        "headstart.a": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from headstart.b import B\n",
        "headstart.b": "def f():\n    from headstart import a\n",
    }
    graph = {module: imports_of(source, set(sources)) for module, source in sources.items()}
    assert graph == {"headstart.a": {"headstart.b"}, "headstart.b": {"headstart.a"}}
    assert find_cycle(graph) == ["headstart.a", "headstart.b", "headstart.a"]


def test_upward_and_sideways_imports_are_found() -> None:
    # trees stands below drafters, and engine and text share a line; only the last import goes down
    graph = {
        "headstart.trees.shape": {"headstart.drafters.heads"},
        "headstart.text.matcher": {"headstart.engine.stop"},
        "headstart.drafters.heads": {"headstart.errors", "headstart.drafters.protocol"},
    }
    assert misplaced(graph) == [
        "headstart.text.matcher imports headstart.engine.stop",
        "headstart.trees.shape imports headstart.drafters.heads",
    ]


@pytest.mark.parametrize("module", sorted(SOURCES))
def test_module(module: str) -> None:
    source = SOURCES[module]
    tree = ast.parse(source)
    assert len(source.splitlines()) <= MAX_LINES, f"{module} holds two things by now: split it by meaning"
    assert module.rsplit(".", 1)[-1] not in CATCH_ALL_NAMES, f"{module} is named for nothing in particular"
    assert not tree.body or ast.get_docstring(tree), f"{module} does not say what it is"
    relative = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    assert not relative, f"{module} imports relatively in lines {relative}"


def test_texts_speak_of_the_project_alone() -> None:
    written = [
        path
        for folder in ("headstart", "tests", "benchmarks", "scripts", "docs", ".ci")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".md", ".toml", ".txt", ".sh", ""} and path.is_file() and path != Path(__file__)
    ]
    written += [
        path
        for name in ("Makefile", "pyproject.toml", "README.md", "CONTRIBUTING.md", "CHANGELOG.md")
        if (path := ROOT / name).exists()
    ]
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in written
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if FOREIGN_WORDS.search(line)
    ]
    assert found == []
