"""Openings of many kinds, from which an instruct model writes the conversations that heads are trained on.

A model that invents questions freely invents the same few again and again. Here the field, the form and the words are drawn at
random, and the model does the rest. Everything follows from an index and a seed.
"""

import random
import re
from dataclasses import dataclass

from headstart.train.openings import articles, craft, everyday, knowledge, problems, texts, translation
from headstart.train.openings.follow_ups import FOLLOW_UPS
from headstart.train.openings.grammar import fill
from headstart.train.openings.passages import Passage
from headstart.train.openings.prefaces import PREFACES
from headstart.train.openings.words import WORDS
from headstart.train.openings.world import WORLD

TEMPLATES: dict[str, tuple[str, ...]] = {
    "writing": craft.WRITING,
    "math": problems.MATH,
    "qa": knowledge.QA,
    "roleplay": craft.ROLEPLAY,
    "translation": translation.TEMPLATES,
    "howto": everyday.HOWTO,
    "reasoning": problems.REASONING,
    "summarization": texts.SUMMARIZE,
    "coding": craft.CODING,
    "context": texts.CONTEXT,
    "chat": everyday.CHAT,
    "extraction": texts.EXTRACT,
    "search": knowledge.SEARCH,
    "stem": knowledge.STEM,
    "dialogue": texts.DIALOGUE,
    "advice": everyday.ADVICE,
    "humanities": knowledge.HUMANITIES,
    "brainstorm": craft.BRAINSTORM,
    "rewrite": everyday.REWRITE,
}
KINDS: tuple[str, ...] = (*TEMPLATES, "translation", "math", "summarization", "context")
"""The kind of index i is KINDS[i % len(KINDS)]; those that stand for whole families of tasks come twice a round."""
FOLLOW_UP_KINDS: tuple[str, ...] = (*FOLLOW_UPS, "summarization", "context")
"""The same for questions about a passage."""

_LISTS = {**WORDS, **WORLD, **articles.WORDS, **texts.WORDS, **problems.WORDS, **translation.WORDS}
_CAPPED = re.compile(r"(.*)~(\d+)", re.DOTALL)
_COMPLETE_SHARE = 0.64
_COMPLETE_SHARES = {"summarization": 0.35, "context": 0.45, "dialogue": 0.45, "translation": 0.8}
_CUT_SHARE = 0.45  # of the incomplete ones: a whole question broken off somewhere, instead of a start written as one
_CUT_TOKENS = (40, 100)
_LIMIT_SHARE = 0.12
_TAKES_LIMIT = {"writing", "roleplay", "howto", "stem", "humanities", "advice", "brainstorm", "reasoning", "coding"}
_TYPED_SHARE = 0.18  # of the short turns: as people type who do not care for capitals and marks
_PREFACE_SHARE = {True: 0.25, False: 0.5}  # a start says less by itself, so it gets one more often
_SHORT_CHARS = 220

_HELLOS = ("Hi,", "Hello!", "hey", "Good morning.", "ok,", "So,", "Please help:", "Quick question:", "Dear assistant,", "um,")
_THANKS = ("Thanks!", "Thank you.", "thx", "Thanks in advance", "please", "Any ideas?", "It is for school.", "I need to know.")


def _weighted(starts: bool) -> dict[str, tuple[list[str], list[int]]]:
    """By kind the templates that are starts or whole, with weights: more slots can be filled more often without a repetition."""
    chosen = {
        kind: [template for template in templates if (_CAPPED.fullmatch(template) is not None) == starts]
        for kind, templates in TEMPLATES.items()
    }
    return {
        kind: (templates, [1 + 3 * min(3, template.count("{")) for template in templates]) for kind, templates in chosen.items()
    }


_WHOLES = _weighted(starts=False)
_STARTS = _weighted(starts=True)


@dataclass(frozen=True)
class Opening:
    """A user's turn, or the start of one that the model is to go on with."""

    kind: str
    """One of :data:`KINDS`."""
    text: str
    """Does not end in a space: the model's next token brings its own."""
    complete: bool
    """Whether the turn is whole."""
    max_new_tokens: int
    """How many tokens the model may add to the turn; 0 when it is whole."""


def opening(index: int, seed: int) -> Opening:
    """The opening of this index: the same for the same seed, nearly always another than that of any other index.

    The kinds come round evenly with the index; about 60 % of the openings are whole questions.
    """
    rng = random.Random(f"{seed}:{index}")
    kind = KINDS[index % len(KINDS)]
    whole = rng.random() < _COMPLETE_SHARES.get(kind, _COMPLETE_SHARE)
    cut = not whole and rng.random() < _CUT_SHARE
    template = rng.choices(*(_WHOLES if whole or cut else _STARTS)[kind])[0]
    capped = _CAPPED.fullmatch(template)
    body, cap = (capped[1], int(capped[2])) if capped else (template, 0)
    text = fill(body, _LISTS, rng)
    if kind not in ("search", "translation"):
        text = text[:1].upper() + text[1:] if rng.random() < 0.9 else text
    if kind in PREFACES and len(text) < _SHORT_CHARS and rng.random() < _PREFACE_SHARE[whole]:
        text = f"{fill(rng.choice(PREFACES[kind]), _LISTS, rng)} {text}"
    if whole:
        if kind in _TAKES_LIMIT and "{limit}" not in body and len(text) < _SHORT_CHARS and rng.random() < _LIMIT_SHARE:
            text = f"{text} {fill('{limit}', _LISTS, rng)}"
        return Opening(kind, (text if kind == "search" else _typed(text, rng)).rstrip(" "), True, 0)
    if cut:
        text, cap = _cut(text, rng), rng.randint(*_CUT_TOKENS)
    return Opening(kind, text.rstrip(" "), False, cap)


def follow_up(index: int, seed: int, passage: str) -> Opening:
    """A whole question built around `passage`, a text that the model wrote before.

    The kinds come round evenly with the index. An empty passage is an error of the caller.
    """
    assert passage.strip(), "a follow-up needs a passage"
    rng = random.Random(f"{seed}:follow-up:{index}")
    kind = FOLLOW_UP_KINDS[index % len(FOLLOW_UP_KINDS)]
    parts = Passage.of(passage, rng)
    # Filled first and joined with the passage last, so that a brace in the passage is not taken for a slot.
    text = parts.insert(fill(rng.choice(FOLLOW_UPS[kind]), _LISTS, rng))
    return Opening(kind, text.rstrip(" "), True, 0)


def _typed(text: str, rng: random.Random) -> str:
    """The text as a hurried person types it, now and then."""
    if len(text) > _SHORT_CHARS or "\n" in text or rng.random() >= _TYPED_SHARE:
        return text
    bare = text.rstrip(".?!")
    first_lower = text[:1].lower() + text[1:] if text[1:2].islower() else text
    return rng.choice(
        (
            text.lower(),
            bare,
            first_lower.rstrip(".?!"),
            bare + rng.choice(("!!", "???", "?!", "!")),
            f"{rng.choice(_HELLOS)} {first_lower}",
            f"{text} {rng.choice(_THANKS)}",
        )
    )


def _cut(text: str, rng: random.Random) -> str:
    """The text up to a space in its second half; short ones whole."""
    spaces = [found.start() for found in re.finditer(r"(?<=\S) ", text)]
    inner = [at for at in spaces if 0.45 * len(text) <= at <= 0.9 * len(text)]
    return text[: rng.choice(inner)] if inner else text
