"""The small language in which openings are written: slots, choices and ranges, filled at random.

{city}      a random entry of the word list "city"; the same slot again gives the same value
{city2}     another entry of the same list
{^city}     the same with a capital letter
{n:2-50}    a whole number, both ends included
<a|b|c>     one of the alternatives, which may hold slots and may be empty
a(n)        "a" or "an", as the next word wants it
¶           a new line
⇥           four spaces, for program text
"""

import random
import re
from collections.abc import Mapping, Sequence

_CHOICE = re.compile(r"<([^<>|]*(?:\|[^<>|]*)+)>")
_SLOT = re.compile(r"\{(\^?)([a-z_]+)(\d*)(?::(\d+)-(\d+))?\}")
_ARTICLE = re.compile(r"\b([Aa])\(n\)(\s+)(\W*)(\w+)")
_SOUNDS_LIKE_CONSONANT = ("uni", "use", "usu", "eu", "one", "ufo", "ura", "uku")
_SOUNDS_LIKE_VOWEL = ("hour", "honest", "heir", "mri", "sql", "html", "x-ray")


def items(text: str) -> tuple[str, ...]:
    """Entries parted by commas or line ends."""
    return tuple(entry.strip() for entry in re.split(r"[,\n]", text) if entry.strip())


def lines(text: str) -> tuple[str, ...]:
    """Entries parted by line ends. Inside an entry ¶ becomes a line end, ⇥ four spaces, and other runs of spaces one space."""
    entries = (re.sub(" {2,}", " ", entry.strip()) for entry in text.split("\n"))
    return tuple(entry.replace("¶", "\n").replace("⇥", "    ") for entry in entries if entry)


def fill(template: str, words: Mapping[str, Sequence[str]], rng: random.Random) -> str:
    """The template with every choice, slot and article put in. A slot without a word list raises KeyError."""
    bound: dict[str, str] = {}

    def choose(found: re.Match[str]) -> str:
        alternatives: list[str] = found[1].split("|")
        return rng.choice(alternatives)

    def draw(found: re.Match[str]) -> str:
        capital, name, number, low, high = found.groups()
        key = f"{name}{number}:{low}-{high}" if low else name + number
        if key not in bound:
            bound[key] = str(rng.randint(int(low), int(high))) if low else _another(words[name], name, bound, rng)
        value = bound[key]
        return value[:1].upper() + value[1:] if capital else value

    count = 1
    text = template
    while count:
        text, choices = _CHOICE.subn(choose, text)
        text, slots = _SLOT.subn(draw, text)
        count = choices + slots
    return _ARTICLE.sub(_article, text)


def _another(values: Sequence[str], name: str, bound: Mapping[str, str], rng: random.Random) -> str:
    taken = {value for key, value in bound.items() if key.rstrip("0123456789") == name}
    value = rng.choice(values)
    while value in taken and len(taken) < len(values):
        value = rng.choice(values)
    return value


def _article(found: re.Match[str]) -> str:
    article, space, mark, word = found.groups()
    lower = word.lower()
    if lower[0].isdigit():
        vowel = lower[0] == "8" or lower in ("11", "18")
    else:
        vowel = lower.startswith(_SOUNDS_LIKE_VOWEL) or (lower[0] in "aeioué" and not lower.startswith(_SOUNDS_LIKE_CONSONANT))
    return f"{article}{'n' if vowel else ''}{space}{mark}{word}"
