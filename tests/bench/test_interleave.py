"""The order of turns."""

from collections import Counter

import pytest

from headstart.bench.interleave import order_of


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 6])
def test_no_place_and_no_neighbour_is_favoured(count: int) -> None:
    """Over 2n turns: n x n places share 2n x n visits, n(n - 1) pairs of neighbours share 2n(n - 1): two each."""
    orders = [order_of(range(count), turn) for turn in range(2 * count)]
    assert all(sorted(order) == list(range(count)) for order in orders)
    places = Counter((place, item) for order in orders for place, item in enumerate(order))
    assert set(places.values()) == {2}
    assert len(places) == count * count
    follows = Counter(pair for order in orders for pair in zip(order, order[1:]))
    assert set(follows.values()) == ({2} if count > 1 else set())
    assert len(follows) == count * (count - 1)
