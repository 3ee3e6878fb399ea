"""Given conversations, their answers written by an endpoint; the base model then reads them for its hidden states.

What was answered is kept in a journal at once, so that a run that was killed asks for nothing twice.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from headstart.errors import DataError, TrainingError
from headstart.train.account import Lost
from headstart.train.conversations import Given
from headstart.train.endpoint import RUN_AGAIN, Endpoint, NoAnswer, Said
from headstart.train.generation import OnTokens
from headstart.train.kept import NOT_FOUND, Kept
from headstart.train.scripts import SAMPLED_EVERY, SAMPLED_TEMPERATURE, Recipe, is_answered
from headstart.train.shards import Answer

_RATE_ROUNDS = 2
_NAMED = 5
_SEVERAL = 5


class Asked:
    """A source whose questions are the data's and whose answers are an endpoint's."""

    def __init__(
        self,
        endpoint: Endpoint,
        reader: Kept,
        recipe: Recipe,
        given: Sequence[Given],
        *,
        journal: Path,
        parallel: int,
        max_failed: int,
    ) -> None:
        """``parallel``: conversations that are asked about at the same time. More than ``max_failed`` failures end the run."""
        self._endpoint, self._reader, self._recipe, self._given = endpoint, reader, recipe, given
        self._journal = Journal(journal)
        self._parallel, self._max_failed = parallel, max_failed
        self.lost: dict[int, Lost] = {}
        self._passing: set[int] = set()
        """Those that may be answered another time."""

    @property
    def total(self) -> int:
        return len(self._given)

    def conversations(self, first: int, count: int, on_tokens: OnTokens) -> list[list[Answer]]:
        numbers = range(first, min(first + count, len(self._given)))
        talks = self._talks(numbers)
        talks |= self._talks_again(numbers)
        out = []
        for number in numbers:
            answers: list[Answer] = []
            if talks.get(number):
                try:
                    answers = self._read(number, talks[number])
                except DataError as error:
                    self._fail(number, NoAnswer(NOT_FOUND, str(error), lasting=True))
            on_tokens(sum(len(answer.ids) for answer in answers))
            out.append(answers)
        return out

    def _talks_again(self, numbers: Sequence[int]) -> dict[int, list[Said]]:
        """Those that failed in a way that may pass, asked once more: in a finished shard they are lost.

        Raises:
            TrainingError: they are a tenth or more of all, several, and none is answered now: the endpoint does not work.
        """
        again = [number for number in numbers if number in self._passing]
        talks = self._talks(again) if again else {}
        if len(again) >= _SEVERAL and len(again) * 10 >= len(numbers) and not talks:
            raise TrainingError(
                f"the endpoint answered none of {len(again):,} conversations, asked twice; the first one:"
                f" {self.lost[again[0]].detail}. What was answered before is kept. {RUN_AGAIN}"
            )
        return talks

    def rate(self, seconds: float) -> float:
        """Measured on the first conversations, however long they take: their answers are kept."""
        begun = time.perf_counter()
        heard: list[int] = []
        self.conversations(0, min(_RATE_ROUNDS * self._parallel, len(self._given)), heard.append)
        return max(1, sum(heard)) / (time.perf_counter() - begun)

    def _talks(self, numbers: Sequence[int]) -> dict[int, list[Said]]:
        """What was answered in each conversation; nothing for those that failed, which are in ``lost``."""
        talks = {number: said for number in numbers if (said := self._journal.find(self._key(number))) is not None}
        self._endpoint.open()
        executor = ThreadPoolExecutor(self._parallel, thread_name_prefix="endpoint")
        left = iter([number for number in numbers if number not in talks])
        running: dict[Future[list[Said]], int] = {}
        try:
            while True:
                while len(running) < self._parallel and (number := next(left, None)) is not None:
                    running[executor.submit(self._talk, number)] = number
                if not running:
                    return talks
                done = wait(running, return_when=FIRST_COMPLETED).done
                for future in sorted(done, key=lambda each: each.exception() is not None):  # a failure may end the run
                    number = running.pop(future)
                    try:
                        talks[number] = future.result()
                    except NoAnswer as failure:
                        self._fail(number, failure)
                    else:
                        self.lost.pop(number, None)  # it may have failed when the rate was measured
                        self._passing.discard(number)
                        self._journal.keep(self._key(number), talks[number])
        finally:
            self._endpoint.close()
            executor.shutdown(wait=False, cancel_futures=True)

    def _fail(self, number: int, failure: NoAnswer) -> None:
        origin = self._given[number].origin
        (self._passing.discard if failure.lasting else self._passing.add)(number)
        self.lost[number] = Lost("failed", failure.reason, f"{origin}: {failure.detail.removeprefix(f'{origin}: ')}")
        failed = [row.detail for row in self.lost.values() if row.kind == "failed"]
        if len(failed) > self._max_failed:
            raise TrainingError(
                "\n  ".join([f"the endpoint failed at {len(failed):,} rows; the first ones are:", *failed[:_NAMED]])
                + f"\nWhat was answered is kept. {RUN_AGAIN}, or let more rows be left out with --max-bad-rows"
            )

    def _talk(self, number: int) -> list[Said]:
        """One conversation, turn by turn, with the endpoint's own answers as the history."""
        history: list[dict[str, str]] = []
        said: list[Said] = []
        sampled = number % SAMPLED_EVERY == SAMPLED_EVERY - 1
        for message, answered in self._asked(number):
            history.append(message)
            if not answered:
                continue
            answer = self._endpoint.ask(
                history,
                temperature=SAMPLED_TEMPERATURE if sampled else 0.0,
                max_tokens=self._recipe.max_new_tokens,
                seed=self._recipe.sample_seed(number, len(said) + 1),
            )
            said.append(answer)
            history.append({"role": "assistant", "content": answer.text})
        return said

    def _asked(self, number: int) -> list[tuple[dict[str, str], bool]]:
        """The given messages that are not answers, and whether an answer comes after each."""
        messages = self._given[number].messages or []
        return [(message, is_answered(messages, i)) for i, message in enumerate(messages) if message["role"] != "assistant"]

    def _read(self, number: int, said: Sequence[Said]) -> list[Answer]:
        answers = iter(said)
        messages: list[dict[str, str]] = []
        for message, answered in self._asked(number):
            messages.append(message)
            if answered:
                messages.append({"role": "assistant", "content": next(answers).text})
        row = Given(self._given[number].origin, messages=messages)
        return self._reader.answers(row, cut={i for i, answer in enumerate(said) if answer.cut})

    def _key(self, number: int) -> str:
        """Another for everything that could change the answers."""
        turns = self._asked(number)
        asked: list[Any] = [self._endpoint.model, number, self._recipe.seed, self._recipe.max_new_tokens]
        asked.append([message for message, _ in turns])
        if any(message["role"] == "user" and not answered for message, answered in turns):
            asked.append([answered for _, answered in turns])
        return hashlib.blake2b(json.dumps(asked).encode(), digest_size=12).hexdigest()


class Journal:
    """Answers on disk, a line for each conversation."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kept: dict[str, list[Said]] | None = None

    def find(self, key: str) -> list[Said] | None:
        return self._read().get(key)

    def keep(self, key: str, said: Sequence[Said]) -> None:
        """Raises TrainingError if the disk is full; what was kept before is still there."""
        known = self._read()
        line = json.dumps({"key": key, "answers": [vars(answer) for answer in said]})
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:
            raise TrainingError(
                f"cannot write {self._path}: {error.strerror or error}. Make room and run the same command with --resume"
            ) from error
        known[key] = list(said)

    def _read(self) -> dict[str, list[Said]]:
        if self._kept is None:
            self._kept = {}
            text = self._path.read_text(encoding="utf-8") if self._path.exists() else ""
            for line in text.split("\n"):
                entry = _whole(line)
                if entry is not None:
                    self._kept[entry["key"]] = [Said(**answer) for answer in entry["answers"]]
            if text and not text.endswith("\n"):  # a kill cut the last line off; the next one must not go on with it
                with self._path.open("a", encoding="utf-8") as file:
                    file.write("\n")
        return self._kept


def _whole(line: str) -> dict[str, Any] | None:
    """The entry of a line; None for one that was being written when the process died, whose conversation is asked again."""
    try:
        entry: dict[str, Any] = json.loads(line)
    except ValueError:
        return None
    return entry
