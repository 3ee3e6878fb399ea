"""Models and heads that several tests of the hooks share."""

from pathlib import Path

import pytest
from transformers import PreTrainedModel

from headstart.drafters.heads_directory import HeadsDirectory
from headstart.trees.shape import TreeShape
from tests.tiny_models import adapter, alphabet_heads, alphabet_model, noise_heads, tiny


@pytest.fixture(scope="module")
def alphabet() -> PreTrainedModel:
    return alphabet_model()


@pytest.fixture(scope="module")
def right_heads(alphabet: PreTrainedModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("heads") / "right"
    alphabet_heads(adapter(alphabet)).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def noisy_heads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of the tiny Llama."""
    path = tmp_path_factory.mktemp("heads") / "noise"
    HeadsDirectory(noise_heads(adapter(tiny("llama"))), TreeShape([[0], [0, 0], [1], [0, 1], [0, 0, 0]])).save_pretrained(path)
    return path
