"""What tokens cost."""

from typing import Any

import pytest

from headstart.bench.cost import cost, stops_paying
from tests.bench.made_up import run, sample


def test_device_seconds_and_money() -> None:
    """5 tokens in 2 seconds, prompt included: 0.4 s each; at 9 an hour a million of them cost 1,000."""
    samples = [sample("a", {"plain": run(range(5), 4.0), "medusa": run(range(5), 1.0)})]
    found = cost(samples, "medusa", 9.0)
    assert found is not None
    assert found["device_seconds_per_token"]["estimate"] == pytest.approx(0.4)
    assert found["tokens_per_second"] == pytest.approx(2.5)
    assert found["of_plain"] == pytest.approx(2 / 5)
    assert found["price_per_million"] == pytest.approx(1000)
    unpriced = cost(samples, "medusa", None)
    assert unpriced is not None
    assert unpriced["price_per_million"] is None
    assert cost(samples, "ngram", None) is None


@pytest.mark.parametrize(
    ("speedups", "above"),
    [
        ({1: 2.0, 2: 1.5}, None),
        ({1: 0.9, 2: 0.8}, 0),
        ({1: 1.5, 4: 1.1, 16: 0.9}, 8),  # half way between 4 and 16 on the scale of their logarithms
        ({1: 1.5, 2: 1.0}, 2),
        ({1: 0.95, 4: 1.5}, None),  # not with one text, but with many
        ({1: 1.2, 2: 0.98, 4: 1.5, 16: 0.5}, 8),
        ({4: 1.2, 1: 2.0, 8: 0.6}, 5),  # a third of the way from 4 to 8: 4 * 2 ** (1/3) = 5.04
    ],
)
def test_where_it_stops(speedups: dict[int, float], above: Any) -> None:
    pays = sorted(size for size, speedup in speedups.items() if speedup > 1)
    assert stops_paying(speedups) == {"measured": sorted(speedups), "pays": pays, "above": above}
