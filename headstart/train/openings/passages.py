"""A passage cut into what questions about it are made of."""

import random
import re
from dataclasses import dataclass

from headstart.train.openings.grammar import items

_SENTENCE_END = re.compile(r"(?<=[^\d\s][.!?])\s+|\n+")  # not after the "1." of a list
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-zà-ÿ]+(?: [A-Z][a-zà-ÿ]+)*")
_WORD = re.compile(r"\b[a-z]{6,}\b")
_MARK = re.compile("§([pnshk])")
_LENGTHS = (300, 600, 1000, 1600)
_EMPTY_WORDS = frozenset(
    items("""
        because, before, between, should, through, another, without, however, important, including, several, different, example,
        always, around, become, during, people, things, someone, something, together, usually, whether, within, making, having,
        really, better, little, against, according, although, following, provide, ensure, various, please, cannot, themselves
    """)
)


@dataclass(frozen=True)
class Passage:
    """The parts of one passage."""

    whole: str
    sentence: str
    half: str
    numbered: str
    key: str
    """A name that occurs in the passage, else a long word of it, else "this"."""

    @staticmethod
    def of(text: str, rng: random.Random) -> "Passage":
        """Cut `text`, which is not empty, at sentence ends; long texts lose their tail."""
        text = text.strip()
        limit = rng.choice(_LENGTHS)
        sentences = [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence.strip()]
        if len(text) > limit:
            last = sentences[0]
            position = 0
            for sentence in sentences:
                position = text.index(sentence, position) + len(sentence)
                if position > limit:
                    break
                last = text[:position]
            text = last
            sentences = [sentence.strip() for sentence in _SENTENCE_END.split(text) if sentence.strip()]
        keys = _NAME.findall(text) or [word for word in _WORD.findall(text) if word not in _EMPTY_WORDS] or ["this"]
        words = text.split(" ")
        return Passage(
            whole=text,
            sentence=max(rng.sample(sentences, min(2, len(sentences))), key=len),
            half=" ".join(words[: max(1, len(words) // 2)]),
            numbered=_numbered(sentences, rng),
            key=rng.choice(keys),
        )

    def insert(self, template: str) -> str:
        """The template with its § marks replaced."""
        parts = {"p": self.whole, "n": self.numbered, "s": self.sentence, "h": self.half, "k": self.key}
        return _MARK.sub(lambda found: parts[found[1]], template)


def _numbered(sentences: list[str], rng: random.Random) -> str:
    pieces = min(len(sentences), rng.randint(2, 5))
    size = -(-len(sentences) // pieces)
    groups = [" ".join(sentences[at : at + size]) for at in range(0, len(sentences), size)]
    style = rng.choice(("[{}] {}", "{}. {}", "Passage {}: {}", "({}) {}", "Title {}: {}"))
    return rng.choice(("\n", "\n\n")).join(style.format(number, group) for number, group in enumerate(groups, 1))
