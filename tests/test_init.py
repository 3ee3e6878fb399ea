"""The public names: all there, and none of them loaded before it is asked for."""

import subprocess
import sys

import pytest

import headstart
from headstart.errors import HeadstartError
from headstart.trees.shape import TreeShape

HEAVY = "{'torch', 'transformers', 'tokenizers', 'numpy', 'cyclopts'} & set(sys.modules)"


def test_import_loads_nothing_heavy() -> None:
    # a new process: in this one torch is loaded already
    script = f"import sys, headstart; dir(headstart); headstart.__version__; headstart.HeadstartError; print({HEAVY})"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_names_come_from_their_homes() -> None:
    assert headstart.TreeShape is TreeShape
    assert headstart.HeadstartError is HeadstartError


def test_every_public_name_resolves() -> None:
    for name in headstart.__all__:
        assert getattr(headstart, name) is not None
        assert name in dir(headstart)


def test_every_error_is_public() -> None:
    # whoever catches an error of ours need not know where it lives
    errors = {error.__name__ for error in HeadstartError.__subclasses__() if error.__module__ == "headstart.errors"}
    assert {*errors, "HeadstartError"} <= set(headstart.__all__)


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="module 'headstart' has no attribute 'medusa'"):
        _ = headstart.medusa
