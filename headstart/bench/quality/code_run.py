"""Programs that a model has written, run in a process of their own with limits.

The process limits its time, memory and files, has no network where the system lets it be taken away, an empty environment and
directory, and refuses calls that change files, start processes or open connections. That stops accidents; a program that is written
to break out of it may succeed, so code of a model that is not trusted belongs into a container or a virtual machine.
"""

import ast
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path

from headstart.bench.quality import program
from headstart.errors import InvalidParameterError

_BLOCK = re.compile(r"```[^\n]*\n(.*?)(?:```|\Z)", re.DOTALL)
_LONGEST_WORD = 4096  # bytes of a verdict


@dataclass(frozen=True, kw_only=True)
class CodeLimits:
    """What a program may use."""

    cpu_seconds: int = 5
    wall_seconds: float = 30.0
    """Sleeping takes no processor time."""
    memory_bytes: int = 1 << 30
    file_bytes: int = 1 << 20
    """Of any file; opening one for writing is refused, so this is a second lock."""


@dataclass(frozen=True)
class CodeRun:
    """What became of a program."""

    passed: bool
    """It ran to its end, and so did the tests."""
    reason: str = ""
    """Why not."""


def code_of(answer: str, function: str) -> str:
    """The code of an answer, as if it began at the left margin: the first fenced block that defines the function; else what stands
    before the first fence, if that does, as far as it is Python; else the first block, or all there is."""
    blocks = [textwrap.dedent(block) for block in _BLOCK.findall(answer)]
    unfenced = _python(textwrap.dedent(answer.partition("```")[0]))
    defines = re.compile(rf"\bdef {re.escape(function)}\b")
    return next((part for part in (*blocks, unfenced) if defines.search(part)), (*blocks, unfenced)[0])


def _python(text: str) -> str:
    """The lines up to where words begin that are no code; all of them where none can be read."""
    lines = text.splitlines(keepends=True)
    for count in range(len(lines), 0, -1):
        try:
            ast.parse("".join(lines[:count]))
        except (SyntaxError, ValueError):
            continue
        return "".join(lines[:count])
    return text


def run_code(code: str, tests: Sequence[str], limits: CodeLimits = CodeLimits()) -> CodeRun:
    """Run ``code`` and then the tests, statements that raise where the code is wrong.

    Raises:
        InvalidParameterError: this system has no limits for processes.
    """
    if not can_limit():
        raise InvalidParameterError("code is only run where processes can be limited, which Windows cannot; leave out code")
    token = secrets.token_hex(16)
    given = asdict(limits)
    wall = given.pop("wall_seconds")
    job = json.dumps({"program": code, "tests": "\n".join(tests), "token": token, **given})
    with tempfile.TemporaryDirectory(prefix="headstart-code-") as directory:
        process = subprocess.Popen(
            [*without_network(), sys.executable, "-I", "-S", "-B", str(Path(program.__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=directory,
            env=_environment(),
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(job.encode("utf-8", "surrogatepass"), timeout=wall)
        except subprocess.TimeoutExpired:
            return CodeRun(False, f"still running after {wall:g} s")
        finally:
            _end(process)
    return _verdict(said[:_LONGEST_WORD], token, process.returncode)


def can_limit() -> bool:
    """Whether this system can limit a process, without which no code is run."""
    return sys.platform != "win32"


@lru_cache(maxsize=1)
def without_network() -> tuple[str, ...]:
    """What a command has to begin with to see no network; empty where the system does not let us take it away."""
    command = shutil.which("unshare")
    if command is None:
        return ()
    words = (command, "--user", "--net", "--")
    tried = subprocess.run([*words, sys.executable, "-I", "-S", "-c", ""], capture_output=True, check=False)
    return () if tried.returncode else words


def _environment() -> dict[str, str]:
    """Nothing but where a Python that is not linked statically finds its own library."""
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH") if name in os.environ}


def _end(process: "subprocess.Popen[bytes]") -> None:
    """It, whatever it has started, and its pipes."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _verdict(said: bytes, token: str, code: int) -> CodeRun:
    try:
        mark, wrong = json.loads(said)
    except (ValueError, TypeError):  # it died before it could say anything
        return CodeRun(False, f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}, nothing said")
    if mark != token:
        return CodeRun(False, "it wrote the verdict itself")
    return CodeRun(not wrong, wrong)
