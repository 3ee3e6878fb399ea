"""Whether an answer is what the reference says, by one of four rules.

Texts are compared without case, punctuation, articles and superfluous spaces (as SQuAD's exact match does, Rajpurkar et al. 2016),
and a word only as a whole one.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence

_ARTICLE = re.compile(r"\b(a|an|the)\b(?=\s+\w)")  # the last word is none: "vitamin A", "answer A"
_NUMBER = re.compile(r"((?<![\w)])-)?[$€£]?(\d+(?:,\d{3})*(?:\.\d+)?|(?<![\w.])\.\d+)")
"""Sign and value; the line between two numbers is no sign."""
_MINUS = "\u2212"


def plain_words(text: str) -> list[str]:
    """``["capital", "is", "rome"]`` for ``"The capital is Rome."``."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    spaced = "".join(letter if letter.isalnum() or _is_mark(letter) else " " for letter in folded)
    return _ARTICLE.sub(" ", spaced).split()


def _is_mark(letter: str) -> bool:
    """A vowel sign or an accent of its own, which belongs to the letter before it."""
    return unicodedata.category(letter).startswith("M")


def exact(answer: str, reference: str) -> bool:
    """The whole answer is the reference."""
    return plain_words(answer) == plain_words(reference)


def begins(answer: str, reference: str) -> bool:
    """The answer begins with the reference."""
    words = plain_words(reference)
    return plain_words(answer)[: len(words)] == words


def contains(answer: str, reference: str) -> bool:
    """The reference stands somewhere in the answer."""
    words, whole = plain_words(reference), plain_words(answer)
    return any(whole[i : i + len(words)] == words for i in range(len(whole) - len(words) + 1))


def number(answer: str, reference: str) -> bool:
    """The last number of the answer is the last one of the reference, as is usual for sums that are worked out."""
    said, wanted = last_number(answer), last_number(reference)
    return said is not None and said == wanted


def last_number(text: str) -> float | None:
    """None where there is none; a thousand may be written 1,000."""
    found = _NUMBER.findall(text.replace(_MINUS, "-"))
    return float("".join(found[-1]).replace(",", "")) if found else None


MATCHES: dict[str, Callable[[str, str], bool]] = {"exact": exact, "begins": begins, "contains": contains, "number": number}


def matches(answer: str, references: Sequence[str], match: str) -> bool:
    """Whether one of the references is met."""
    return any(MATCHES[match](answer, reference) for reference in references)
