"""Words to ids."""

import pytest

from headstart.errors import InvalidParameterError
from headstart.text.bad_words import bad_word_ids
from tests.tiny_models import letter_ids, letters_tokenizer


def test_a_word_at_the_start_and_after_a_space() -> None:
    assert bad_word_ids(letters_tokenizer(), ["ab", " c"]) == [letter_ids(word) for word in ("ab", " ab", "c", " c")]


def test_one_word_and_ids_as_they_are() -> None:
    assert bad_word_ids(letters_tokenizer(), "ab") == [letter_ids("ab"), letter_ids(" ab")]
    assert bad_word_ids(None, [[1, 2], (3,)]) == [[1, 2], (3,)]
    assert bad_word_ids(None, []) == []


def test_mistakes() -> None:
    for empty in ("", "  "):
        with pytest.raises(InvalidParameterError, match=f"the bad word '{empty}' is empty"):
            bad_word_ids(letters_tokenizer(), [empty])
    with pytest.raises(InvalidParameterError, match=r"bad words need a tokenizer, .* give them as lists of ids"):
        bad_word_ids(None, ["ab"])
