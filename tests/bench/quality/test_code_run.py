"""Programs that are right, wrong, endless, greedy, or that reach for what is not theirs."""

import pytest

from headstart.bench.quality import code_run
from headstart.bench.quality.code_run import CodeLimits, CodeRun, code_of, run_code

ADD = "def add(a, b):\n    return a + b\n"
TESTS = ("assert add(2, 3) == 5", "assert add(1, 1) == 2")


def test_right_and_wrong() -> None:
    assert run_code(ADD, TESTS) == CodeRun(True)
    assert run_code(ADD.replace("+", "-"), TESTS) == CodeRun(False, "AssertionError: ")
    assert run_code("def add(a, b) return", TESTS).reason.startswith("SyntaxError")
    assert run_code("x = 1", TESTS) == CodeRun(False, "NameError: name 'add' is not defined")
    linked = "from dataclasses import dataclass\n@dataclass\nclass Node:\n    next: 'Node' = None\n"
    assert run_code(f"from __future__ import annotations\n{linked}{ADD}", TESTS) == CodeRun(True)
    assert run_code(f"import math, re, collections\n{ADD}print(add(1, 2))", TESTS) == CodeRun(True)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("import os; os._exit(0)", "ended with code 0, nothing said"),
        ("input()", "EOFError: EOF when reading a line"),
        ("import socket; socket.socket()", "PermissionError: socket.__new__ is not allowed here"),
        ("import os; os.system('true')", "PermissionError: os.system is not allowed here"),
        ("import subprocess; subprocess.run(['true'])", "PermissionError: subprocess.Popen is not allowed here"),
        ("import os; os.fork()", "PermissionError: os.fork is not allowed here"),
        ("open('x', 'w')", "PermissionError: open is not allowed here"),
        ("import os; os.open('x', os.O_CREAT | os.O_WRONLY)", "PermissionError: open is not allowed here"),
        ("import sqlite3; sqlite3.connect('x.db')", "PermissionError: sqlite3.connect is not allowed here"),
        ("import os; os.remove('x')", "PermissionError: os.remove is not allowed here"),
        ("import headstart", "ModuleNotFoundError: No module named 'headstart'"),
        ("import os\nassert not set(os.environ) - {'LD_LIBRARY_PATH', 'LC_CTYPE'}, os.environ\nassert 0", "AssertionError: "),
        ("import os\nassert not os.listdir('.')\nassert 0", "AssertionError: "),
        ("class Odd(Exception):\n    __str__ = lambda self: 'x' * 1000\nraise Odd", "Odd: " + "x" * 195),
    ],
)
def test_what_is_refused_or_seen(code: str, reason: str) -> None:
    assert run_code(code, TESTS) == CodeRun(False, reason)


def test_too_much_memory() -> None:
    assert run_code("x = bytearray(1 << 31)", TESTS) == CodeRun(False, "MemoryError: ")


def test_endless() -> None:
    """A second of the processor, or of the clock for one that sleeps."""
    busy = run_code("while True: pass", TESTS, CodeLimits(cpu_seconds=1, wall_seconds=600))
    assert busy.reason in ("killed by SIGXCPU", "killed by SIGKILL")
    asleep = run_code("import time; time.sleep(60)", TESTS, CodeLimits(wall_seconds=1))
    assert asleep == CodeRun(False, "still running after 1 s")


def test_a_great_deal_of_printing_goes_nowhere() -> None:
    assert run_code(f"print('x' * (1 << 24))\n{ADD}", TESTS) == CodeRun(True)


def test_text_that_is_no_unicode() -> None:
    """A lone surrogate, which bytes that are no UTF-8 can become."""
    assert run_code("'\ud800'", TESTS).passed is False


def test_without_unshare(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the network cannot be taken away, calls are refused all the same."""
    monkeypatch.setattr(code_run, "without_network", lambda: ())
    assert run_code(ADD, TESTS) == CodeRun(True)
    assert "not allowed here" in run_code("import socket; socket.create_connection(('127.0.0.1', 9))", TESTS).reason


def test_the_network_is_away_where_it_can_be() -> None:
    if code_run.without_network():
        # /proc/net lists the interfaces of the process: the loop alone
        seen = "assert [line.split(':')[0].strip() for line in open('/proc/net/dev') if ':' in line] == ['lo']"
        assert run_code(ADD, [*TESTS, seen]) == CodeRun(True)


def test_where_the_code_is() -> None:
    fenced = f"Sure:\n```python\nimport math\n```\nand\n```python\n{ADD}```\nThat adds."
    assert code_of(fenced, "add") == ADD
    assert code_of(fenced, "sub") == "import math\n"
    assert code_of(f"```\n{ADD}", "add") == ADD  # cut off before the fence was closed
    assert code_of(ADD, "add") == ADD
    listed = "1. Here:\n   ```python\n   def add(a, b):\n       return a + b\n   ```\n"
    for answer in (
        listed,
        f" {ADD}",
        f"{ADD}\nFor example:\n```\nprint(add(1, 2))\n```",
        f"{ADD}\nThis adds two numbers.",
        f"{ADD}```\nThis adds two numbers.",  # the fence was never opened
    ):
        assert run_code(code_of(answer, "add"), TESTS) == CodeRun(True), answer
