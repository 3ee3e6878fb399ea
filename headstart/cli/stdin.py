"""Where input comes from."""

import sys


def is_typed() -> bool:
    """Whether a person types it. A process that was started with its input closed has none at all."""
    return sys.stdin is not None and sys.stdin.isatty()
