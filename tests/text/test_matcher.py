"""Stop strings end a text where a search of the whole text would, however the ids are cut into calls."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.errors import InvalidParameterError
from headstart.text.detokenizer import Detokenizer
from headstart.text.matcher import StopStrings
from headstart.text.tokenizer import Tokenizer


def visible(tokenizer: Tokenizer, ids: list[int]) -> str:
    """The characters that ``ids`` spell, an incomplete one at the end left out."""
    for drop in range(4):
        kept = ids[: len(ids) - drop]
        if drop and ids[len(kept)] not in tokenizer.byte_ids:
            break
        text = tokenizer.decode(kept)
        if not text.endswith("\ufffd"):
            return text
    text = tokenizer.decode(ids)
    return text if tokenizer.byte_ids else text[: len(text.rstrip("\ufffd")) + max(0, len(text) - len(text.rstrip("\ufffd")) - 3)]


def naive(tokenizer: Tokenizer, ids: list[int], strings: list[str], min_tokens: int) -> tuple[int | None, str]:
    """How many ids to keep and the text, found by searching everything anew after each id."""
    floor = 0
    for n in range(1, len(ids) + 1):
        text = visible(tokenizer, ids[:n])
        if n <= min_tokens:
            floor = len(text)
            continue
        ends = [
            (start + len(string), start)
            for string in strings
            for start in range(len(text))
            if text.startswith(string, start) and start + len(string) > floor
        ]
        if ends:
            return n, text[: min(ends)[1]]
    return None, tokenizer.decode(ids)


def check(tokenizer: Tokenizer, ids: list[int], strings: list[str], min_tokens: int, cuts: list[int]) -> None:
    kept, text = naive(tokenizer, ids, strings, min_tokens)
    stops = StopStrings(Detokenizer(tokenizer), strings, min_tokens)
    taken, at, call, found = "", 0, 0, None
    while at < len(ids) and found is None:
        block = ids[at : at + cuts[call % len(cuts)]]
        result = stops.feed(block)
        found = None if result is None else at + result
        taken += stops.take()
        assert text.startswith(taken)  # nothing of a stop string is ever shown
        at, call = at + len(block), call + 1
    taken += stops.finish()
    assert (found, taken, stops.text) == (kept, text, text)


CUTS = st.lists(st.integers(1, 6), min_size=1, max_size=6)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), numbers=st.lists(st.integers(0, 400), max_size=40), min_tokens=st.integers(0, 12), cuts=CUTS)
def test_equals_a_search_of_the_whole_text(
    byte_level_tokenizer: Tokenizer, data: st.DataObject, numbers: list[int], min_tokens: int, cuts: list[int]
) -> None:
    """Stop strings are cut out of the text itself, so that nearly every example has matches, overlapping ones among them."""
    ids = [number % byte_level_tokenizer.vocab_size for number in numbers]
    check(byte_level_tokenizer, ids, _strings(data, byte_level_tokenizer.decode(ids)), min_tokens, cuts)


@settings(max_examples=150, deadline=None)
@given(data=st.data(), text=st.text(alphabet="ab \n€", max_size=25), min_tokens=st.integers(0, 12), cuts=CUTS)
def test_equals_a_search_with_byte_tokens(
    sentencepiece_tokenizer: Tokenizer, data: st.DataObject, text: str, min_tokens: int, cuts: list[int]
) -> None:
    """Newlines and the euro sign are byte tokens here: text that matches may be pending when it does."""
    ids = [token for c in text for token in _spelled(sentencepiece_tokenizer, c)]
    check(sentencepiece_tokenizer, ids, _strings(data, sentencepiece_tokenizer.decode(ids)), min_tokens, cuts)


@settings(max_examples=150, deadline=None)
@given(
    text=st.text(alphabet="ab", max_size=30),
    strings=st.lists(st.text(alphabet="ab", min_size=1, max_size=6), min_size=1, max_size=4),
    min_tokens=st.integers(0, 10),
    cuts=CUTS,
)
def test_repetitive_texts(byte_level_tokenizer: Tokenizer, text: str, strings: list[str], min_tokens: int, cuts: list[int]) -> None:
    """Two letters make every kind of overlap between a text's end and a stop string's beginning."""
    check(byte_level_tokenizer, [_id(byte_level_tokenizer, c) for c in text], strings, min_tokens, cuts)


def test_a_string_over_two_calls(byte_level_tokenizer: Tokenizer) -> None:
    """ "STOP" begins in the first call, is completed by the second id of the next one, and is never shown."""
    stops = StopStrings(Detokenizer(byte_level_tokenizer), ["STOP"])
    assert stops.feed([_id(byte_level_tokenizer, c) for c in "abST"]) is None
    assert stops.take() == "ab"
    assert stops.feed([_id(byte_level_tokenizer, c) for c in "OPcd"]) == 2
    assert (stops.take(), stops.finish(), stops.text) == ("", "", "ab")


def test_what_was_held_is_released(byte_level_tokenizer: Tokenizer) -> None:
    stops = StopStrings(Detokenizer(byte_level_tokenizer), ["STOP"])
    stops.feed([_id(byte_level_tokenizer, c) for c in "abSTO"])
    assert (stops.take(), stops.finish(), stops.text) == ("ab", "STO", "abSTO")


def test_the_first_completed_wins_and_then_the_longest(byte_level_tokenizer: Tokenizer) -> None:
    """In "xabc", "b" is complete before "abc"; "ab" and "b" are complete together, and "ab" leaves less text."""
    ids = [_id(byte_level_tokenizer, c) for c in "xabc"]
    for strings, text in ((["abc", "b"], "xa"), (["b", "ab"], "x")):
        stops = StopStrings(Detokenizer(byte_level_tokenizer), strings)
        assert (stops.feed(ids), stops.text) == (3, text)


def test_min_tokens_makes_a_stop_string_text(byte_level_tokenizer: Tokenizer) -> None:
    """The first "." is completed by id 2 of min_tokens=2 and is text; the next one ends the text."""
    stops = StopStrings(Detokenizer(byte_level_tokenizer), ["."], min_tokens=2)
    assert (stops.feed([_id(byte_level_tokenizer, c) for c in "a.b.c"]), stops.text) == (4, "a.b")


def test_a_broken_run_is_searched_from_its_beginning(sentencepiece_tokenizer: Tokenizer) -> None:
    """The byte FF turns the two newlines before it into U+FFFD as well, and the first of the three is where the text ends."""
    stops = StopStrings(Detokenizer(sentencepiece_tokenizer), ["\ufffd"])
    assert (stops.feed([3 + 0x0A, 3 + 0x0A, 3 + 0xFF]), stops.text) == (3, "")


def test_no_strings_pass_everything_on(byte_level_tokenizer: Tokenizer) -> None:
    stops = StopStrings(Detokenizer(byte_level_tokenizer), [])
    assert stops.feed([_id(byte_level_tokenizer, c) for c in "ab"]) is None
    assert (stops.take(), stops.finish()) == ("ab", "")


def test_an_empty_string_is_refused(byte_level_tokenizer: Tokenizer) -> None:
    with pytest.raises(InvalidParameterError, match="at least one character"):
        StopStrings(Detokenizer(byte_level_tokenizer), ["a", ""])


def _strings(data: st.DataObject, text: str) -> list[str]:
    text = text.replace("\ufffd", "") or "x"
    place = st.tuples(st.integers(0, len(text) - 1), st.integers(1, 8)).map(lambda p: text[p[0] : p[0] + p[1]])
    return data.draw(st.lists(place, min_size=1, max_size=3))


def _id(tokenizer: Tokenizer, character: str) -> int:
    token = tokenizer.hf.convert_tokens_to_ids(character)
    assert isinstance(token, int)
    return token


def _spelled(tokenizer: Tokenizer, character: str) -> list[int]:
    if character == " ":
        return [_id(tokenizer, "\u2581")]
    return [_id(tokenizer, character)] if character.isalpha() and character.isascii() else [3 + byte for byte in character.encode()]
