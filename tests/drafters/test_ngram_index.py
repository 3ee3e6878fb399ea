"""The index against a search through the whole text."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.drafters.ngram_index import RECENT, NgramIndex


def indexed(ids: list[int], shortest: int = 1, longest: int = 3) -> NgramIndex:
    index = NgramIndex(shortest=shortest, longest=longest)
    index.extend(ids)
    return index


def searched(ids: list[int], path: list[int], shortest: int, longest: int) -> list[tuple[int, list[int]]]:
    """What the index should find, by looking at every place of the text."""
    found = []
    end = [*ids, *path]
    for length in range(longest, shortest - 1, -1):
        if length > len(end):
            continue
        places = [at for at in range(length, len(ids)) if ids[at - length : at] == end[-length:]]
        if places:
            found.append((length, [ids[at] for at in places[::-1][:RECENT]]))
    return found


def test_the_longest_run_comes_first() -> None:
    """1 2 3 4, then 9 2 3 5, then 1 2 3: after "1 2 3" came 4; after "2 3" came 5 and before that 4."""
    assert indexed([1, 2, 3, 4, 9, 2, 3, 5, 1, 2, 3]).followers() == [(3, [4]), (2, [5, 4]), (1, [5, 4])]


def test_the_end_of_the_text_is_followed_by_nothing() -> None:
    assert indexed([1, 2, 3]).followers() == []
    assert indexed([]).followers() == []


def test_a_path_goes_behind_the_text() -> None:
    index = indexed([5, 6, 7, 8, 5])
    assert index.followers([6]) == [(2, [7]), (1, [7])]
    assert index.followers([6, 7]) == [(3, [8]), (2, [8]), (1, [8])]
    assert index.followers([7]) == [(1, [8])]  # 5 7 never came
    assert index.followers([4]) == []
    assert index.ids == [5, 6, 7, 8, 5]


def test_a_run_that_overlaps_itself() -> None:
    assert indexed([4, 4, 4, 4]).followers() == [(3, [4]), (2, [4, 4]), (1, [4, 4, 4])]


def test_short_runs_can_be_left_out() -> None:
    assert indexed([1, 2, 9, 3, 2], shortest=2, longest=2).followers() == []
    assert indexed([1, 2, 9, 1, 2], shortest=2, longest=2).followers() == [(2, [9])]


def test_the_latest_occurrences_of_many() -> None:
    ids = [token for i in range(50) for token in (0, 100 + i)]
    assert indexed([*ids, 0]).followers() == [(1, [149 - i for i in range(RECENT)])]


@given(st.lists(st.integers(0, 3), max_size=40), st.lists(st.integers(0, 3), max_size=5), st.integers(1, 2), st.integers(2, 5))
def test_as_a_search_finds_it(ids: list[int], path: list[int], shortest: int, longest: int) -> None:
    assert indexed(ids, shortest, longest).followers(path) == searched(ids, path, shortest, longest)


@pytest.mark.parametrize("length", [1_000, 20_000])
def test_the_work_for_an_id_does_not_grow_with_the_text(length: int) -> None:
    """Counted, not timed: an entry for each length, and no more than RECENT places looked at for each."""
    source = random.Random(0)
    index = indexed([source.randrange(2) for _ in range(length)], longest=5)
    entries = sum(len(before) for before in index._before)
    assert entries == 5 * length
    assert all(len(after) <= RECENT for _, after in index.followers())
