"""Where a block ends: every order of stop id, matcher and length, with and without a minimum."""

import itertools
from collections.abc import Sequence

import pytest

from headstart.engine.stop import Crop, crop
from headstart.request import Request

END, STOP, STRING = 90, 91, 92  # the end of text, a stop id, and the id that completes a stop string


class Watcher:
    """A matcher that ends the text at the id ``STRING`` once ``minimum`` ids are there; it remembers what it was shown."""

    def __init__(self, minimum: int = 0) -> None:
        self.minimum, self.seen = minimum, list[int]()

    def feed(self, ids: Sequence[int]) -> int | None:
        for index, token in enumerate(ids):
            self.seen.append(token)
            if token == STRING and len(self.seen) > self.minimum:
                return index + 1
        return None


def request(minimum: int = 0, watcher: Watcher | None = None) -> Request:
    return Request(prompt_ids=[1], stop_ids=frozenset({END, STOP}), min_new_tokens=minimum, matcher=watcher)


def test_nothing_ends() -> None:
    assert crop([1, 2, 3], 5, 9, request()) == Crop((1, 2, 3), None, None)


def test_length() -> None:
    """Five ids are out and seven may be: two of the block are left; exactly enough is the end as well."""
    assert crop([1, 2, 3], 5, 7, request()) == Crop((1, 2), "length", None)
    assert crop([1, 2], 5, 7, request()) == Crop((1, 2), "length", None)
    assert crop([1, 2], 5, 8, request()) == Crop((1, 2), None, None)


@pytest.mark.parametrize("token", [END, STOP])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_id_that_stops_is_the_last_one(token: int, at: int) -> None:
    block = [1, 2, 3]
    block[at] = token
    assert crop(block, 0, 9, request()) == Crop((*block[:at], token), "stop", "id")


def test_the_first_root_may_be_the_end() -> None:
    assert crop([END], 0, 1, request()) == Crop((END,), "stop", "id")


@pytest.mark.parametrize("order", [order for n in (1, 2, 3) for order in itertools.permutations(["id", "string", "length"], n)])
@pytest.mark.parametrize("gap", [0, 1])
def test_the_earliest_wins_in_every_order(order: tuple[str, ...], gap: int) -> None:
    """Events one after another, a plain id between them where gap is 1. What comes first cuts; "length" lies after its id."""
    block: list[int] = []
    limit = 99
    for event in order:
        block += [7] * gap
        if event == "length":
            block.append(8)
            limit = len(block)
        else:
            block.append(END if event == "id" else STRING)
    block += [7, 7]
    first = 1 + gap
    expected = {
        "id": Crop(tuple(block[:first]), "stop", "id"),
        "string": Crop(tuple(block[:first]), "stop", "matcher"),
        "length": Crop(tuple(block[:first]), "length", None),
    }[order[0]]
    assert crop(block, 0, limit, request(watcher=Watcher())) == expected


@pytest.mark.parametrize(("token", "by"), [(END, "id"), (STRING, "matcher")])
def test_a_stop_beats_length_when_it_is_equal(token: int, by: str) -> None:
    """The last id that fits is the one that stops."""
    assert crop([1, 2, token], 0, 3, request(watcher=Watcher())) == Crop((1, 2, token), "stop", by)


@pytest.mark.parametrize(("token", "by"), [(END, "id"), (STRING, "matcher")])
def test_a_stop_beyond_length_does_not_count(token: int, by: str) -> None:
    watcher = Watcher()
    assert crop([1, 2, token], 0, 2, request(watcher=watcher)) == Crop((1, 2), "length", None)
    assert watcher.seen == [1, 2]


def test_the_matcher_sees_text_and_nothing_after_it() -> None:
    """Not the id that stops, not what follows it, not what is beyond the limit; an empty block of text is shown as such."""
    watcher = Watcher()
    crop([1, 2, END, 3], 0, 9, request(watcher=watcher))
    assert watcher.seen == [1, 2]
    watcher = Watcher()
    assert crop([END], 0, 9, request(watcher=watcher)) == Crop((END,), "stop", "id")
    assert watcher.seen == []


def test_the_matcher_goes_on_from_block_to_block() -> None:
    watcher = Watcher()
    asked = request(watcher=watcher)
    assert crop([1, 2], 0, 9, asked) == Crop((1, 2), None, None)
    assert crop([3, STRING, 4], 2, 9, asked) == Crop((3, STRING), "stop", "matcher")
    assert watcher.seen == [1, 2, 3, STRING]


def test_a_string_completed_right_before_the_end_drops_the_end() -> None:
    assert crop([1, STRING, END], 0, 9, request(watcher=Watcher())) == Crop((1, STRING), "stop", "matcher")


@pytest.mark.parametrize(
    ("emitted", "kept", "reason"),
    [
        (0, 4, "stop"),  # the ends at 1 and 2 are too early for a minimum of 3; the one at 3 is the fourth id
        (1, 3, "stop"),  # the end at 2 is the fourth id now
        (2, 2, "stop"),
        (3, 2, "stop"),  # the minimum is reached: the first end ends
    ],
)
def test_ids_do_not_stop_before_the_minimum(emitted: int, kept: int, reason: str) -> None:
    """As MinNewTokens forbids them: with fewer than three ids before it, an end is no end."""
    block = [7, END, END, END, 7]
    assert crop(block, emitted, 99, request(minimum=3)) == Crop(tuple(block[:kept]), reason, "id")  # type: ignore[arg-type]


def test_a_matcher_keeps_to_the_minimum_itself() -> None:
    """It is shown every id, so that a string that begins before the minimum can end after it."""
    watcher = Watcher(minimum=3)
    assert crop([STRING, 2, 3, STRING, 5], 0, 99, request(3, watcher)) == Crop((STRING, 2, 3, STRING), "stop", "matcher")
    assert watcher.seen == [STRING, 2, 3, STRING]


def test_length_ends_before_the_minimum() -> None:
    assert crop([END, END], 0, 2, request(minimum=5)) == Crop((END, END), "length", None)
