"""The text to train on: given files, or the source code of Python's own standard library, which is there wherever Python is."""

import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path

from headstart.errors import DataError

SUFFIXES = (".txt", ".md", ".rst", ".py")
"""Of files that are read in a directory."""
_FEW = 40
_PIECE = 4000  # characters
_LEFT_OUT = {"test", "tests", "idlelib", "site-packages", "dist-packages", "lib2to3", "turtledemo", "__pycache__", "encodings"}


def documents(paths: Sequence[Path]) -> list[str]:
    """The texts of all files, in order of their names. A few long ones are cut into pieces, so that some can be held out.

    Raises:
        DataError: a file is missing, is no UTF-8 text, or there is no text at all.
    """
    files = [file for path in paths for file in _files_of(path)] if paths else _standard_library()
    texts = [text for file in files if (text := _read(file)).strip()]
    if not texts:
        raise DataError(
            f"no text in {', '.join(map(str, paths))}; expected files with text in them, in a directory those that end in"
            f" {', '.join(SUFFIXES)}"
        )
    return texts if len(texts) >= _FEW else [piece for text in texts for piece in _pieces(text)]


def name_of(paths: Sequence[Path]) -> str:
    """What to call the text in a model card."""
    return ", ".join(path.name for path in paths) if paths else "the source code of Python's standard library"


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.is_file() and file.suffix in SUFFIXES)
    if not path.is_file():
        raise DataError(f"there is no file or directory {path}; name the text to train on")
    return [path]


def _standard_library() -> list[Path]:
    root = Path(sysconfig.get_paths()["stdlib"])
    files = [file for file in sorted(root.rglob("*.py")) if not _LEFT_OUT & set(file.relative_to(root).parts[:-1])]
    if not files:
        raise DataError(f"Python's standard library has no sources in {root}; name text files with --text")
    return files


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{file} is not UTF-8: {error}; convert it, or leave it out") from error
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror or error}") from error


def _parts(line: str) -> Iterable[str]:
    """A line, or pieces of one that is longer than a piece, cut behind spaces where there are any."""
    start = 0
    while len(line) - start > _PIECE:
        end = line.rfind(" ", start + 1, start + _PIECE) + 1 or start + _PIECE
        yield line[start:end]
        start = end
    yield line[start:]


def _pieces(text: str) -> Iterable[str]:
    piece: list[str] = []
    size = 0
    for part in (part for line in text.splitlines(keepends=True) for part in _parts(line)):
        piece.append(part)
        size += len(part)
        if size >= _PIECE:
            yield "".join(piece)
            piece, size = [], 0
    if piece:
        yield "".join(piece)
