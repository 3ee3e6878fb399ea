"""From what was measured to one result."""

from tests.bench.made_up import made_up_result


def test_plain_decoding_does_not_stop_paying() -> None:
    """It is what others are measured against. A text takes 1 s of prompt and 4 s plainly; with medusa half of the 4 alone, as long
    in a batch of 2 and twice as long in one of 4: 5/3, 1 and 5/9 times as fast. transformers takes 8 s always."""
    found = made_up_result(batches={2: 1.0, 4: 0.5})["cost"]["stops_paying"]
    assert found == [
        {
            "temperature": 0.0,
            "contestants": {
                "medusa": {"measured": [1, 2, 4], "pays": [1], "above": 2},
                "transformers": {"measured": [1, 2, 4], "pays": [], "above": 0},
            },
        }
    ]
