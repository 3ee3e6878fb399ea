"""Words that a text must not contain, as the tokens that would write them."""

from collections.abc import Sequence

from headstart.errors import InvalidParameterError
from headstart.text.tokenizer import Tokenizer


def bad_word_ids(tokenizer: Tokenizer | None, words: str | Sequence[str | Sequence[int]]) -> list[Sequence[int]]:
    """The id sequences of words: a string as it stands at a text's start and as it stands after a space; ids as they are.

    A word that is cut into tokens in another way, inside a longer word for instance, is not found.

    Raises:
        InvalidParameterError: a word is empty, or a string and there is no tokenizer.
    """
    found: list[Sequence[int]] = []
    for word in [words] if isinstance(words, str) else words:
        if not isinstance(word, str):
            found.append(word)
            continue
        if tokenizer is None:
            raise InvalidParameterError("bad words need a tokenizer, and this model came without one; give them as lists of ids")
        bare = word.strip(" ")
        if not bare:
            raise InvalidParameterError(f"the bad word {word!r} is empty; expected at least one character that is no space")
        found += [tokenizer.encode(spelled, add_special_tokens=False) for spelled in (bare, f" {bare}")]
    return found
