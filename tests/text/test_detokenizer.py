"""Pieces are final, and all of them together are what the tokenizer makes of all ids at once."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headstart.text.detokenizer import Detokenizer
from headstart.text.tokenizer import Tokenizer

# cuts[i]: how many ids the i-th call gets, over and over
CUTS = st.lists(st.integers(1, 5), min_size=1, max_size=8)


def ids_of(tokenizer: Tokenizer, numbers: list[int]) -> list[int]:
    return [number % tokenizer.vocab_size for number in numbers]


def pieces_of(tokenizer: Tokenizer, ids: list[int], cuts: list[int]) -> list[str]:
    """What each call gives, the last one being ``finish``. Checks on the way that everything given is final."""
    detokenizer = Detokenizer(tokenizer)
    whole, pieces, at, call = tokenizer.decode(ids), [], 0, 0
    while at < len(ids):
        size = cuts[call % len(cuts)]
        pieces.append(detokenizer.feed(ids[at : at + size]))
        assert whole.startswith("".join(pieces))
        at, call = at + size, call + 1
    pieces.append(detokenizer.finish())
    assert detokenizer.text == "".join(pieces)
    return pieces


@settings(max_examples=150, deadline=None)
@given(numbers=st.lists(st.integers(0, 1 << 16), max_size=70), cuts=CUTS)
def test_pieces_add_up_to_the_whole(any_tokenizer: Tokenizer, numbers: list[int], cuts: list[int]) -> None:
    ids = ids_of(any_tokenizer, numbers)
    assert "".join(pieces_of(any_tokenizer, ids, cuts)) == any_tokenizer.decode(ids)


@settings(max_examples=150, deadline=None)
@given(
    runs=st.lists(st.tuples(st.text(alphabet="aé€👍 \n\ufffd", max_size=6), st.lists(st.integers(0, 300), max_size=3)), max_size=8),
    cuts=CUTS,
)
def test_runs_of_byte_tokens(sentencepiece_tokenizer: Tokenizer, runs: list[tuple[str, list[int]]], cuts: list[int]) -> None:
    """Sound characters in byte tokens, mixed with ids that break them: a broken run is U+FFFD from its beginning."""
    tokenizer = sentencepiece_tokenizer
    ids = [
        token
        for text, noise in runs
        for token in [*(3 + byte for byte in text.encode()), *(number % tokenizer.vocab_size for number in noise)]
    ]
    assert "".join(pieces_of(tokenizer, ids, cuts)) == tokenizer.decode(ids)


@pytest.mark.bundled
@settings(max_examples=150, deadline=None)
@given(numbers=st.lists(st.one_of(st.integers(0, 49151), st.integers(0, 300)), max_size=70), cuts=CUTS)
def test_bundled_pieces_add_up_to_the_whole(bundled_tokenizer: Tokenizer, numbers: list[int], cuts: list[int]) -> None:
    assert "".join(pieces_of(bundled_tokenizer, numbers, cuts)) == bundled_tokenizer.decode(numbers)


@settings(max_examples=150, deadline=None)
@given(text=st.text(max_size=40), cuts=CUTS)
def test_real_text_comes_back(byte_level_tokenizer: Tokenizer, text: str, cuts: list[int]) -> None:
    ids = byte_level_tokenizer.encode(text, add_special_tokens=False)
    assert "".join(pieces_of(byte_level_tokenizer, ids, cuts)) == byte_level_tokenizer.decode(ids)


@pytest.mark.parametrize("text", ["日本語", "👍🏽", "é"])
def test_a_split_character_appears_whole(byte_level_tokenizer: Tokenizer, text: str) -> None:
    """Each piece holds whole characters only: no U+FFFD is ever shown for a character that is still to be completed."""
    ids = [byte_level_tokenizer.hf.convert_tokens_to_ids(c) for c in _alphabet(text)]
    pieces = pieces_of(byte_level_tokenizer, ids, [1])
    assert [piece for piece in pieces if piece] == list(text)


def test_sentencepiece_spaces(sentencepiece_tokenizer: Tokenizer) -> None:
    """The first space is stripped, later ones are not; a special token between two words adds nothing."""
    the, fox, eos = (sentencepiece_tokenizer.hf.convert_tokens_to_ids(t) for t in ("\u2581the", "\u2581fox", "</s>"))
    assert pieces_of(sentencepiece_tokenizer, [eos, the, eos, fox, the], [1]) == ["", "the", "", " fox", " the", ""]


def test_byte_tokens_wait_for_the_end_of_their_run(sentencepiece_tokenizer: Tokenizer) -> None:
    """A later byte that is not UTF-8 takes the whole run back, so its characters are pending until another token comes."""
    detokenizer, newline, x = Detokenizer(sentencepiece_tokenizer), 3 + ord("\n"), sentencepiece_tokenizer.encode("x", False)[-1]
    assert (detokenizer.feed([newline]), detokenizer.pending) == ("", "\n")
    assert (detokenizer.feed([newline]), detokenizer.pending) == ("", "\n\n")
    assert (detokenizer.feed([x]), detokenizer.pending) == ("\n\nx", "")
    assert (detokenizer.feed([newline, 3 + 0xFF]), detokenizer.pending) == ("\ufffd\ufffd", "")


def test_a_space_is_stripped_from_a_run_that_starts_the_text(sentencepiece_tokenizer: Tokenizer) -> None:
    detokenizer = Detokenizer(sentencepiece_tokenizer)
    assert (detokenizer.feed([3 + ord(" "), 3 + ord("\n")]), detokenizer.pending, detokenizer.finish()) == ("", "\n", "\n")


def test_an_unfinished_character_is_told_at_the_end(byte_level_tokenizer: Tokenizer) -> None:
    ids = [byte_level_tokenizer.hf.convert_tokens_to_ids(c) for c in _alphabet("é")[:1]]
    detokenizer = Detokenizer(byte_level_tokenizer)
    assert (detokenizer.feed(ids), detokenizer.finish()) == ("", "\ufffd")


@pytest.mark.parametrize("kind", ["byte_level_tokenizer", "sentencepiece_tokenizer"])
def test_endless_broken_bytes_cost_linear_work(kind: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """2,000 ids that never make a character: ids decoded per id fed stay bounded (the window is 32), and text keeps flowing."""
    tokenizer = request.getfixturevalue(kind)
    broken = (tokenizer.byte_ids and 3 + 0xFF) or tokenizer.hf.convert_tokens_to_ids(_byte_char(0xFF))
    decoded = []
    decode = tokenizer.decode
    monkeypatch.setattr(tokenizer, "decode", lambda ids, **kwargs: decoded.append(len(ids)) or decode(ids, **kwargs))
    detokenizer = Detokenizer(tokenizer)
    shown = sum(len(detokenizer.feed([broken])) for _ in range(2000))
    assert 2000 - 3 <= shown <= 2000
    assert max(decoded) <= 33
    assert sum(decoded) <= 2000 * 34
    detokenizer.finish()
    assert detokenizer.text == "\ufffd" * 2000


def test_endless_newlines_in_byte_tokens_cost_linear_work(
    sentencepiece_tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sound run is held, but not decoded until it ends: 2,000 ids are decoded once, whatever the number of calls."""
    tokenizer, decoded = sentencepiece_tokenizer, []
    decode = tokenizer.decode
    monkeypatch.setattr(tokenizer, "decode", lambda ids, **kwargs: decoded.append(len(ids)) or decode(ids, **kwargs))
    detokenizer = Detokenizer(tokenizer)
    for _ in range(2000):
        detokenizer.feed([3 + ord("\n")])
    assert detokenizer.finish() == "\n" * 2000
    assert sum(decoded) <= 2000 + 10


def _byte_char(byte: int) -> str:
    """The character that stands for a byte in a byte-level vocabulary: printable ones themselves, the others from 256 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    if byte in printable:
        return chr(byte)
    return chr(256 + [b for b in range(256) if b not in printable].index(byte))


def _alphabet(text: str) -> list[str]:
    return [_byte_char(byte) for byte in text.encode()]
