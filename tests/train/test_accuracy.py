import math

import torch

from headstart.train.accuracy import shown, top_shares


def test_shares_of_first_guesses() -> None:
    """Ranks 0, 2, 4 and 10; the second head has labels at two places, the third at none."""
    rank_EK = torch.tensor([[0, 0, -1], [2, 10, -1], [4, -1, -1], [10, -1, -1]], dtype=torch.int8)
    first, second, third = top_shares(rank_EK)
    assert first == [0.25, 0.5, 0.75, 0.75]
    assert second == [0.5, 0.5, 0.5, 0.5]
    assert all(math.isnan(share) for share in third)
    assert (shown(0.4567), shown(third[0])) == ("45.7%", "-")
