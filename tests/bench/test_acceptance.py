"""Tokens per step, and how many guesses are accepted."""

import pytest

from headstart.bench.acceptance import acceptance
from tests.bench.made_up import run, sample


def test_counts() -> None:
    """7 steps for 10 tokens after the first: 3 accept one guess or more, 1 of them two."""
    found = acceptance(
        [
            sample("a", {"medusa": run(range(7), 1.0, accepted=[2], steps=4)}, "qa"),
            sample("b", {"medusa": run(range(5), 1.0, accepted=[1, 1], steps=3)}, "rag"),
        ],
        "medusa",
    )
    assert found is not None
    assert found["steps"] == 7
    assert found["tokens_per_step"]["estimate"] == pytest.approx(10 / 7)
    assert found["histogram"] == [4, 2, 1]  # steps with no, one and two guesses accepted
    assert sum(found["histogram"]) == 7
    assert found["joint"] == pytest.approx([3 / 7, 1 / 7])
    assert found["conditional"] == pytest.approx([3 / 7, 1 / 3])
    assert found["by_category"] == pytest.approx({"qa": 6 / 4, "rag": 4 / 3})
    assert found["proposed_per_step"] == 3
    assert found["accepted_share"] == pytest.approx(4 / 21)


def test_who_guesses_nothing() -> None:
    assert acceptance([sample("a", {"plain": run(range(5), 1.0)})], "plain") is None
    assert acceptance([sample("a", {"plain": run(range(5), 1.0)})], "medusa") is None
