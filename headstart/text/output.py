"""The text of one request as it grows: ids in, text out that will not change any more."""

from collections.abc import Sequence

from headstart.request import Matcher
from headstart.text.detokenizer import Detokenizer
from headstart.text.matcher import StopStrings
from headstart.text.tokenizer import Tokenizer


class TextOutput:
    """Joins the detokenizer and the stop strings. Where there are stop strings the engine feeds the ids (see ``matcher``)."""

    def __init__(self, tokenizer: Tokenizer | None, stop: Sequence[str], min_tokens: int) -> None:
        self._detokenizer = None if tokenizer is None else Detokenizer(tokenizer)
        self._stops = StopStrings(self._detokenizer, stop, min_tokens) if self._detokenizer is not None and stop else None

    @property
    def matcher(self) -> Matcher | None:
        """What the engine needs to end the text at a stop string."""
        return self._stops

    @property
    def text(self) -> str:
        """Everything so far, stop strings left out."""
        if self._stops is not None:
            return self._stops.text
        return "" if self._detokenizer is None else self._detokenizer.text

    def push(self, ids: Sequence[int], *, last: bool, ended_by: str | None) -> str:
        """New text after ``ids``, which the engine has cropped. ``last``: the text ends here, so nothing is held back."""
        if self._detokenizer is None:
            return ""
        if self._stops is not None:
            return self._stops.take() + (self._stops.finish() if last and ended_by != "matcher" else "")
        if ended_by == "id":  # the id that stops is not text
            ids = ids[:-1]
        return self._detokenizer.feed(ids) + (self._detokenizer.finish() if last else "")
