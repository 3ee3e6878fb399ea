"""A chat endpoint that speaks OpenAI's protocol, asked for whole answers: time-outs, back-off, and what counts as an answer."""

import json
import os
import random
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any

from headstart.errors import TrainingError

_REFUSED = (400, 413, 422)  # this request, not all of them: too long, say
_TEMPORARY = (408, 409, 425, 429)
_LONGEST_WAIT = 60.0  # seconds
_CHUNK = 65536


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Another address would be asked without the conversation, and told the key."""

    def redirect_request(self, *_: Any) -> None:
        return None


_OPENER = urllib.request.build_opener(_NoRedirect)


@dataclass(frozen=True)
class Said:
    """An answer."""

    text: str
    cut: bool
    """It ends at the limit of tokens and not because it was finished."""


RUN_AGAIN = "Run the same command again when it works, with --resume if it says that there is a run"


class NoAnswer(Exception):
    """One request got no answer, and asking again did not help."""

    def __init__(self, reason: str, detail: str, *, lasting: bool = False) -> None:
        """``reason``: the same words for all requests that failed in this way. ``lasting`` if the request is what is wrong."""
        super().__init__(detail)
        self.reason, self.detail, self.lasting = reason, detail, lasting


class Endpoint:
    """Requests can be made from several threads at once."""

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key_variable: str | None = None,
        timeout: float = 120.0,
        tries: int = 5,
        back_off: float = 1.0,
    ) -> None:
        """``url``: the base, as in ``http://host:8000/v1``. ``key_variable``: the environment variable that holds the key.

        ``timeout`` is in seconds and counts for each try (one that stalls late may take twice as long); ``back_off`` is how long to
        wait after the first that failed, twice as long after each further one.

        Raises:
            TrainingError: the URL is none, or the environment variable is not set.
        """
        if not url.startswith(("http://", "https://")):
            raise TrainingError(f"the endpoint is {url!r}; expected a URL such as http://localhost:8000/v1")
        self.url = url.rstrip("/").removesuffix("/chat/completions") + "/chat/completions"
        self.model = model
        self._timeout, self._tries, self._back_off = timeout, tries, back_off
        self._closed = threading.Event()
        self._headers = {"Content-Type": "application/json"}
        if key_variable is not None:
            key = os.environ.get(key_variable, "").strip()
            if not key:
                raise TrainingError(f"the environment variable {key_variable} is not set; expected the endpoint's key in it")
            self._headers["Authorization"] = f"Bearer {key}"

    def close(self) -> None:
        """Nobody waits for an answer any more: nothing more is asked."""
        self._closed.set()

    def open(self) -> None:
        self._closed.clear()

    def ask(self, messages: Sequence[dict[str, str]], *, temperature: float, max_tokens: int, seed: int) -> Said:
        """The answer to a conversation.

        Raises:
            NoAnswer: the endpoint refuses this request, or answers garbage or nothing in time, again and again.
            TrainingError: it refuses all requests: a wrong key, path or model.
        """
        body = {
            "model": self.model,
            "messages": list(messages),
            "temperature": temperature,
            "max_tokens": max_tokens,
            "seed": seed & 0x7FFFFFFF,
        }
        data = json.dumps(body).encode()
        wait = self._back_off
        for number in range(self._tries):
            if self._closed.is_set():
                raise NoAnswer("given up", "nobody waits for the answer any more")
            try:
                return self._try(data)
            except _TryAgain as failure:
                if number == self._tries - 1:
                    raise NoAnswer(failure.reason, f"{failure.detail} ({number + 1} tries)") from failure
                pause = min(_LONGEST_WAIT, max(wait, failure.wait))
                # not all at once again
                self._closed.wait(pause * random.uniform(0.75, 1.25))
                wait *= 2
        raise AssertionError("the last try returns or raises")

    def _try(self, data: bytes) -> Said:
        request = urllib.request.Request(self.url, data, self._headers)
        deadline = time.monotonic() + self._timeout
        try:
            with _OPENER.open(request, timeout=self._timeout) as response:
                raw = _read(response, deadline)
        except urllib.error.HTTPError as error:
            raise self._refusal(error) from error
        except TimeoutError as error:
            raise _TryAgain("timed out", f"no answer within {self._timeout:g} seconds") from error
        except (OSError, ValueError, HTTPException) as error:  # not reached, broken off, no HTTP
            reason = getattr(error, "reason", error)
            if isinstance(reason, TimeoutError):
                raise _TryAgain("timed out", f"no answer within {self._timeout:g} seconds") from error
            raise _TryAgain("endpoint not reached", f"{self.url}: {reason or type(reason).__name__}") from error
        return _said(raw)

    def _refusal(self, error: urllib.error.HTTPError) -> Exception:
        with error:
            try:
                words = error.read1(500).decode(errors="replace").strip()
            except (OSError, HTTPException):
                words = "and no reason"
        detail = f"{self.url}: {error.code} {words}"
        if error.code in _REFUSED:
            return NoAnswer(f"refused with {error.code}", detail, lasting=True)
        if error.code in _TEMPORARY or error.code >= 500:
            return _TryAgain(f"endpoint answered {error.code}", detail, _seconds(error.headers.get("Retry-After")))
        return TrainingError(
            f"the endpoint refuses every request: {detail}. Check its URL, the model {self.model!r} and the key (--api-key-env)."
            f" {RUN_AGAIN}"
        )


def _read(response: HTTPResponse, deadline: float) -> bytes:
    """The whole body. The socket's own time-out starts anew with each byte that trickles in; the deadline does not."""
    parts = []
    while part := response.read1(_CHUNK):
        parts.append(part)
        if time.monotonic() > deadline:
            raise TimeoutError
    if response.length:
        raise IncompleteRead(b"".join(parts), response.length)
    return b"".join(parts)


class _TryAgain(NoAnswer):
    """A try that failed, after which another may succeed in ``wait`` seconds."""

    def __init__(self, reason: str, detail: str, wait: float = 0.0) -> None:
        super().__init__(reason, detail)
        self.wait = wait


def _said(raw: bytes) -> Said:
    try:
        choice: Any = json.loads(raw)["choices"][0]
        text, finish = choice["message"]["content"], choice.get("finish_reason")
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"content is {text!r:.60}")
        text.encode()  # half a character is no text
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise _TryAgain("garbage answers", f"{raw[:200]!r} is no chat completion: {error}") from error
    return Said(text, finish == "length")


def _seconds(retry_after: str | None) -> float:
    try:
        return float(retry_after or 0)
    except ValueError:
        return 0.0  # a date; our own waiting time will do
