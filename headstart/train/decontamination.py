"""Keeps the prompts that heads are judged by out of their training data."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from headstart.train.account import Lost
from headstart.train.conversations import Reading
from headstart.tuning.prompts import prompt_of, read_rows

SHARES = "shares words with an evaluation prompt"
_NO_SPACES = "぀-ヿ㐀-鿿가-힯"  # kana, Han and Hangul: each character counts as a word
_WORD = re.compile(rf"[{_NO_SPACES}]|[^\W{_NO_SPACES}]+")


class EvaluationPrompts:
    """Runs of words that occur in evaluation prompts. Case and punctuation do not count."""

    def __init__(self, texts: Iterable[str], words: int) -> None:
        """``words``: how many in a row make two texts alike. A prompt with fewer has to be the whole text."""
        self._words = words
        self._runs: set[tuple[str, ...]] = set()
        self._short: set[tuple[str, ...]] = set()
        for text in texts:
            said = _words(text)
            self._runs.update(_runs(said, words))
            if 0 < len(said) < words:
                self._short.add(said)

    def alike(self, text: str) -> bool:
        """Whether ``text`` shares a run of words with an evaluation prompt, or is one."""
        said = _words(text)
        return said in self._short or any(run in self._runs for run in _runs(said, self._words))


def evaluation_prompts(files: Sequence[Path], words: int) -> EvaluationPrompts:
    """Those of the bundled prompts and of ``files``, all turns of each.

    Raises:
        DataError: a file cannot be read or a line of it is malformed.
    """
    rows = [row for path in (None, *files) for row in read_rows(path)]
    return EvaluationPrompts([text for origin, row in rows for text in _asked(row, origin)], words)


def decontaminated(reading: Reading, prompts: EvaluationPrompts) -> Reading:
    """The rows that have nothing of an evaluation prompt in them; the others are lost."""
    rows, lost = [], list(reading.lost)
    for row in reading.rows:
        if any(prompts.alike(part) for part in row.parts):
            lost.append(Lost("skipped", SHARES, f"{row.origin}: {SHARES}"))
        else:
            rows.append(row)
    return Reading(rows, lost)


def _asked(row: dict[str, Any], origin: str) -> list[str]:
    """All that is asked in a row of a prompt file; :func:`prompt_of` alone would give the first turn of several."""
    prompt = prompt_of(row, origin)
    texts = [prompt.text] if prompt.text else [m["content"] for m in prompt.messages if m["role"] == "user"]
    return texts + [turn for turn in row.get("turns", [])[1:] if isinstance(turn, str)]


def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(text.casefold()))


def _runs(said: tuple[str, ...], words: int) -> Iterable[tuple[str, ...]]:
    return (said[i : i + words] for i in range(len(said) - words + 1))
