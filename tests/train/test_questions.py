"""Openings: the same for the same seed, many kinds in equal parts, hardly ever twice the same, no slot left empty."""

import random
import re
from collections import Counter

import pytest

from headstart.train import questions
from headstart.train.openings.follow_ups import FOLLOW_UPS
from headstart.train.openings.grammar import fill, items, lines
from headstart.train.openings.passages import Passage
from headstart.train.openings.prefaces import PREFACES
from headstart.train.questions import FOLLOW_UP_KINDS, KINDS, TEMPLATES, follow_up, opening

PASSAGE = (
    "Rice terraces hold water on steep slopes. Farmers such as Ana Reyes repair the walls every spring. "
    "Without {care} the <mud|stone> walls break within a few years."
)
# A slot or choice that was not filled, an article that was not chosen, or a mark of the grammar.
LEFTOVER = re.compile(r"\{\^?[a-z_]+\d*:\d|\{\^?[a-z]{2,}[\d_}]|\(n\) |<[^<>\n]*\|[^<>\n]*>|[§¶⇥~]")


@pytest.fixture(scope="module")
def many() -> list[questions.Opening]:
    return [opening(index, seed=0) for index in range(20_000)]


def test_the_same_index_and_seed_give_the_same_opening(many: list[questions.Opening]) -> None:
    assert [opening(index, seed=0) for index in range(200)] == many[:200]


def test_another_seed_gives_other_openings(many: list[questions.Opening]) -> None:
    same = sum(opening(index, seed=1) == many[index] for index in range(1000))
    assert same <= 20  # two draws agree about as often as two openings of one kind do, well under 2 in 100


def test_at_least_95_of_100_texts_are_distinct(many: list[questions.Opening]) -> None:
    assert len({one.text for one in many}) >= 0.95 * len(many)


def test_the_kinds_come_round_evenly(many: list[questions.Opening]) -> None:
    rounds = 20_000 // len(KINDS)
    counts = Counter(one.kind for one in many[: rounds * len(KINDS)])
    assert counts == {kind: rounds * KINDS.count(kind) for kind in set(KINDS)}  # each round holds each kind its fixed times


def test_six_of_ten_are_whole_questions(many: list[questions.Opening]) -> None:
    whole = sum(one.complete for one in many)
    assert 0.57 <= whole / len(many) <= 0.63  # the aim is 0.60; the standard deviation of the share is 0.0035


def test_only_starts_leave_room_for_the_model(many: list[questions.Opening]) -> None:
    assert all(one.max_new_tokens == 0 for one in many if one.complete)
    assert all(20 <= one.max_new_tokens <= 160 for one in many if not one.complete)


def test_no_text_is_empty_ends_in_a_space_or_keeps_a_slot(many: list[questions.Opening]) -> None:
    for one in many:
        assert one.text.rstrip(" ") == one.text != "", one
        assert not LEFTOVER.search(one.text), one


def test_every_template_and_every_entry_of_a_list_can_be_filled() -> None:
    everything = [*TEMPLATES.values(), *FOLLOW_UPS.values(), *PREFACES.values(), *questions._LISTS.values()]
    for templates in everything:
        for template in templates:
            for seed in range(3):
                fill(template, questions._LISTS, random.Random(seed))  # an unknown slot is a KeyError


def test_every_kind_has_wholes_and_starts() -> None:
    assert set(questions._WHOLES) == set(questions._STARTS) == set(KINDS)
    assert all(templates for templates, _ in (*questions._WHOLES.values(), *questions._STARTS.values()))


def test_a_follow_up_is_whole_and_built_around_the_passage() -> None:
    for index in range(400):
        one = follow_up(index, seed=0, passage=PASSAGE)
        assert one == follow_up(index, seed=0, passage=PASSAGE)
        assert (one.complete, one.max_new_tokens) == (True, 0)
        assert one.kind == FOLLOW_UP_KINDS[index % len(FOLLOW_UP_KINDS)]
        # Each template holds the passage, a sentence, a half or a name of it, and each of these holds one of these words.
        assert any(word in one.text for word in ("Rice terraces", "Ana Reyes", "Without {care}")), one
        assert "§" not in one.text


def test_braces_and_bars_of_a_passage_are_not_slots() -> None:
    texts = [follow_up(index, seed=0, passage=PASSAGE).text for index in range(FOLLOW_UP_KINDS.index("summarization"), 90, 9)]
    assert all("{care} the <mud|stone> walls" in text for text in texts)


def test_an_empty_passage_is_refused() -> None:
    with pytest.raises(AssertionError):
        follow_up(0, seed=0, passage=" \n")


def test_a_passage_is_cut_at_sentence_ends() -> None:
    text = " ".join(f"Sentence number {number} is about the harbour of Porto." for number in range(100))
    for seed in range(20):
        parts = Passage.of(text, random.Random(seed))
        assert len(parts.whole) <= 1600  # the longest of the lengths that are drawn
        assert parts.whole.endswith("of Porto.")
        assert text.startswith(parts.whole)
        assert parts.key == "Porto"  # the only capital letter inside a sentence
        assert parts.sentence in parts.whole


def test_a_numbered_list_is_not_cut_after_its_numbers() -> None:
    parts = Passage.of("1. Boil water.\n2. Add salt.", random.Random(0))
    assert parts.sentence in ("1. Boil water.", "2. Add salt.")


def test_a_slot_keeps_its_value_and_a_numbered_slot_takes_another() -> None:
    words = {"animal": ("cat", "owl")}
    text = fill("{animal} {animal} {animal2} {^animal}", words, random.Random(3))
    assert text in ("cat cat owl Cat", "owl owl cat Owl")  # only two animals, so the second is the other one


def test_choices_ranges_and_articles() -> None:
    assert fill("<x|x> {n:7-7}{n:7-7}", {}, random.Random(0)) == "x 77"
    articles = "a(n) owl, a(n) cat, a(n) hour, A(n) unicycle, a(n) 8, a(n) 80, a(n) 11, a(n) 180"
    assert fill(articles, {}, random.Random(0)) == "an owl, a cat, an hour, A unicycle, an 8, an 80, an 11, a 180"


def test_an_unknown_slot_is_an_error() -> None:
    with pytest.raises(KeyError, match="nothing"):
        fill("{nothing}", {}, random.Random(0))


def test_lists_are_split_at_commas_and_templates_at_line_ends() -> None:
    assert items("a b, c,\n  d") == ("a b", "c", "d")
    assert lines("  one,  two ¶⇥three\n\n four ") == ("one, two \n    three", "four")
