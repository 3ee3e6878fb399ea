"""Ids in, text out, piece by piece: only text that no later id can change.

All pieces together are exactly what the tokenizer makes of all ids at once. The cost is linear in the number of ids: only a
window of the last few is decoded again, even where characters never become complete.
"""

import codecs
from collections.abc import Sequence

from headstart.text.tokenizer import Tokenizer

# Ids kept before the new ones: more than the bytes of a character, so that a character that began before the window has
# ended inside it, and never none, so that what is peculiar to a text's first token (a space stripped) stays out of the way.
_CONTEXT = 8
_WINDOW = 32
# An incomplete character decodes to U+FFFD: one, or one for each byte of it that is there, and those are three at most.
_REPLACEMENT = "\ufffd"
_HELD = 3


class Detokenizer:
    """The text of one growing list of ids, special ones left out."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._silent = tokenizer.silent_ids
        self._bytes = tokenizer.byte_ids
        self._pieces: list[str] = []
        self._window: list[int] = []
        self._shown = 0  # characters of the window's text that have been given out
        self._run: _ByteRun | None = None
        self._finished = False

    @property
    def text(self) -> str:
        """Everything given out so far."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
        return self._pieces[0] if self._pieces else ""

    @property
    def pending(self) -> str:
        """Whole characters behind ``text`` that the ids so far spell, but that a later id could still take back.

        Only a vocabulary with byte tokens has them (see :attr:`Tokenizer.byte_ids`): a newline, for many models.
        """
        return self._run.text if self._run is not None else ""

    def feed(self, ids: Sequence[int]) -> str:
        """Take the next ids; the text that they complete. Empty while a character is incomplete."""
        assert not self._finished, "a finished text was fed"
        given: list[str] = []
        for token in ids:
            if token in self._silent:
                continue
            byte = self._bytes.get(token)
            if byte is not None:
                given.append(self._feed_byte(token, byte))
                continue
            if self._run is not None:
                given.append(self._end_run())
            self._window.append(token)
        if self._run is None:
            given.append(self._advance())
        return self._give("".join(given))

    def finish(self) -> str:
        """The rest: what was held back, an incomplete character as U+FFFD. Nothing can be fed after it."""
        self._finished = True
        if self._run is not None:
            return self._give(self._end_run())
        return self._give(self._advance(hold=False))

    def _give(self, text: str) -> str:
        if text:
            self._pieces.append(text)
        return text

    def _advance(self, hold: bool = True) -> str:
        """What the window spells beyond what was shown. The window is cut back when it has grown long."""
        if not self._window:
            return ""
        text = self._tokenizer.decode(self._window)
        # byte tokens never stand in the window unless their run has ended, so U+FFFD is final there
        held = _incomplete(text) if hold and not self._bytes else 0
        end = len(text) - held
        new = text[self._shown : end]
        self._shown = max(self._shown, end)
        if len(self._window) > _WINDOW:
            self._window = self._window[-_CONTEXT:]
            self._shown = len(self._tokenizer.decode(self._window)) - held
        return new

    def _feed_byte(self, token: int, byte: int) -> str:
        given = ""
        if self._run is None:
            given = self._advance()
            # a decoder that strips a space from the start of a text strips it from a run that starts the text, too
            stripped = not self._window and byte < 0x80 and not self._tokenizer.decode([token])
            self._run = _ByteRun(stripped)
        was_broken = self._run.broken
        self._run.add(token, byte)
        if was_broken:
            return given + _REPLACEMENT
        if self._run.broken:  # nothing can mend it: all its bytes are final as they are
            return given + self._tokenizer.decode(self._window + self._run.ids)[self._shown :]
        return given

    def _end_run(self) -> str:
        """The run's text where it was not given out yet; its last ids become the window's context."""
        run, self._run = self._run, None
        assert run is not None
        new = "" if run.broken else self._tokenizer.decode(self._window + run.ids)[self._shown :]
        self._window = (self._window + run.ids)[-_CONTEXT:]
        self._shown = len(self._tokenizer.decode(self._window))
        return new


class _ByteRun:
    """Byte tokens in a row. Their text stands once the run ends, all of it U+FFFD if any of it is not UTF-8."""

    def __init__(self, strip_first: bool) -> None:
        self.ids: list[int] = []
        self.broken = False
        self._strip = strip_first
        self._text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")("strict")

    def add(self, token: int, byte: int) -> None:
        self.ids.append(token)
        if not self.broken:
            try:
                self._text += self._decoder.decode(bytes([byte]))
            except UnicodeDecodeError:
                self.broken = True

    @property
    def text(self) -> str:
        """The characters that are complete, if the run is sound so far."""
        return "" if self.broken else self._text[1:] if self._strip else self._text


def _incomplete(text: str) -> int:
    """How many U+FFFD at the end may be the beginning of a character."""
    return min(len(text) - len(text.rstrip(_REPLACEMENT)), _HELD)
