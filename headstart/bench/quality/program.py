"""The other side of ``code_run.py``: a process of its own that limits itself, then runs the program handed to it.

It is started by its path and imports nothing of the package. What it is given on standard input is one JSON object: ``program`` and
``tests``, run one after the other in one namespace, ``token``, and the limits ``cpu_seconds``, ``memory_bytes`` and ``file_bytes``.
When both have run to their end it writes ``[token, ""]`` to standard output, and where one raised, ``[token, what it raised]``.
"""

import json
import os
import sys
import types
from typing import Any

_REFUSED = (
    "socket.", "subprocess.", "shutil.", "tempfile.", "ctypes.", "ftplib.", "urllib.", "webbrowser.", "pty.", "sqlite3.",
    "syslog.", "os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.startfile", "os.kill", "os.remove",
    "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.chown", "os.chflags", "os.link", "os.symlink", "os.truncate",
    "os.utime", "os.putenv", "signal.pthread_kill",
)  # fmt: skip
"""Beginnings of audit events: the network, other processes, and everything that changes files. Reading is left alone, since every
import does it."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def refuse(event: str, arguments: tuple[Any, ...]) -> None:
    """An audit hook.

    Raises:
        PermissionError: the event is one that a function has no need of.
    """
    if event.startswith(_REFUSED) or (event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING):
        raise PermissionError(f"{event} is not allowed here")


def main() -> None:
    job = json.loads(sys.stdin.buffer.read())
    said = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nowhere, descriptor)
    _limit(job["cpu_seconds"], job["memory_bytes"], job["file_bytes"])
    sys.addaudithook(refuse)
    wrong = ""
    module = types.ModuleType("answer")
    sys.modules["answer"] = module  # dataclasses look their module up
    namespace = vars(module)
    try:
        for part in ("program", "tests"):
            exec(compile(job[part], part, "exec"), namespace)
    except BaseException as error:  # noqa: BLE001  (whatever it is, also SystemExit, it is what the program did; it is reported)
        wrong = f"{type(error).__name__}: {error}"[:200]
    os.write(said, json.dumps([job["token"], wrong]).encode())
    os._exit(0)  # no exit handlers, which the program may have set


def _limit(cpu_seconds: int, memory_bytes: int, file_bytes: int) -> None:
    import resource  # Unix alone has it

    limits = [(resource.RLIMIT_CPU, cpu_seconds), (resource.RLIMIT_FSIZE, file_bytes), (resource.RLIMIT_CORE, 0)]
    limits += [(resource.RLIMIT_NOFILE, 64), (resource.RLIMIT_NPROC, 0)]
    if sys.platform != "darwin":  # which refuses to limit it
        limits.append((resource.RLIMIT_AS, memory_bytes))
    for what, most in limits:
        hard = resource.getrlimit(what)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))


if __name__ == "__main__":
    main()
