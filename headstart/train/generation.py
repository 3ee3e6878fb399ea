"""Fills a run's directory with shards of recorded answers, up to a number of answer tokens.

A shard always holds the same conversations and is made with nothing else in the engine, so that a run that was killed and
resumed has the same shards as an undisturbed one. It is written whole or not at all.
"""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from headstart.engine.engine import Engine
from headstart.errors import DataError
from headstart.models.protocol import BaseModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.account import NO_ANSWER, NOT_NEEDED, Account, Lost
from headstart.train.conversations import Given
from headstart.train.decontamination import EvaluationPrompts
from headstart.train.pool import Pool
from headstart.train.recorder import RECORD, Recorder
from headstart.train.scripts import Recipe, Script, continued, regenerated, self_written
from headstart.train.shards import CACHE, NO_STATES, Answer, Shard, read_shard, shard_path, write_shard

OnTokens = Callable[[int], None]
_RATE_CONVERSATIONS = 256
ROWS = "rows"
"""In a shard's metadata: how many conversations were begun for it."""
_LOST = "lost"  # those without an answer
_MAKE_ANEW = "Delete it and use --resume: it is made anew"


class Source(Protocol):
    """Where conversations come from."""

    @property
    def total(self) -> int | None:
        """How many conversations there are; None is as many as wanted."""

    @property
    def lost(self) -> Mapping[int, Lost]:
        """Why conversations gave no answer, by number; filled while they are made."""

    def conversations(self, first: int, count: int, on_tokens: OnTokens) -> list[list[Answer]]:
        """The answers of conversations ``first`` to ``first + count``."""

    def rate(self, seconds: float) -> float:
        """Answer tokens per second, measured for about ``seconds``."""


class SelfWritten:
    """Questions that the base model (an instruct model) writes itself, and its answers."""

    total: int | None = None

    def __init__(self, pool: Pool, recipe: Recipe) -> None:
        self._pool, self._recipe = pool, recipe

    @property
    def lost(self) -> Mapping[int, Lost]:
        return self._recipe.lost

    def conversations(self, first: int, count: int, on_tokens: OnTokens) -> list[list[Answer]]:
        return self._pool.run([self_written(number, self._recipe) for number in range(first, first + count)], on_tokens)

    def rate(self, seconds: float) -> float:
        return self._pool.rate([self_written(number, self._recipe) for number in range(_RATE_CONVERSATIONS)], seconds)


class Regenerated:
    """Given conversations, their answers written anew by the base model."""

    def __init__(self, pool: Pool, recipe: Recipe, given: Sequence[Given]) -> None:
        self._pool, self._recipe, self._given = pool, recipe, given

    @property
    def total(self) -> int:
        return len(self._given)

    @property
    def lost(self) -> Mapping[int, Lost]:
        return self._recipe.lost

    def conversations(self, first: int, count: int, on_tokens: OnTokens) -> list[list[Answer]]:
        numbered = list(enumerate(self._given))[first : first + count]
        return self._pool.run([self._script(number, given) for number, given in numbered], on_tokens)

    def rate(self, seconds: float) -> float:
        numbered = list(enumerate(self._given))[:_RATE_CONVERSATIONS]
        return self._pool.rate([self._script(number, given) for number, given in numbered], seconds)

    def _script(self, number: int, given: Given) -> Script:
        if given.messages is not None:
            return regenerated(number, given.messages, self._recipe)
        assert given.text is not None
        return continued(number, given.text, self._recipe)


def recipe_for(
    model: BaseModel, tokenizer: Tokenizer, *, seed: int, max_new_tokens: int, evaluation: EvaluationPrompts | None = None
) -> Recipe:
    """What all conversations of a run share. An answer ends at an end-of-text id or at the end of the model's turn."""
    return Recipe(
        tokenizer=tokenizer,
        seed=seed,
        stop_ids=frozenset(model.facts.eos_ids) | tokenizer.end_of_turn_ids,
        context_length=model.facts.context_length,
        max_new_tokens=max_new_tokens,
        evaluation=evaluation,
    )


def recording_pool(model: BaseModel, *, max_rows: int) -> Pool:
    """An engine over ``model`` whose recorded requests keep their hidden states."""
    recorder = Recorder(model.facts.device)
    return Pool(Engine(model, {RECORD: recorder}), recorder, max_rows=min(max_rows, model.cache.max_rows))


def fill(
    directory: Path,
    source: Source,
    *,
    tokens: int,
    shard_size: int,
    metadata: dict[str, str],
    on_tokens: OnTokens = lambda count: None,
    on_shard: Callable[[int], None] = lambda tokens: None,
) -> list[Shard]:
    """Make the shards that are missing until there are ``tokens`` answer tokens or the source has no more conversations.

    ``on_tokens`` hears of every answer as it is made; ``on_shard`` of every shard that is there, with its tokens.

    Raises:
        DataError: a shard that is there cannot be read, or belongs to another run.
        TrainingError: the disk is full.
    """
    directory.mkdir(parents=True, exist_ok=True)
    shards: list[Shard] = []
    have = 0
    while have < tokens:
        first = len(shards) * shard_size
        if source.total is not None and first >= source.total:
            break
        path = shard_path(directory, len(shards))
        if not path.exists():
            count = shard_size if source.total is None else min(shard_size, source.total - first)
            groups = source.conversations(first, count, on_tokens)
            lost = [
                source.lost.get(first + i, Lost("skipped", NO_ANSWER))
                for i, answers in enumerate(groups)
                if not any(answer.ids for answer in answers)
            ]
            write_shard(path, first, groups, {**metadata, ROWS: str(count), _LOST: json.dumps([vars(row) for row in lost])})
        shard = read_shard(path, states=metadata.get(CACHE) != NO_STATES, advice=_MAKE_ANEW)
        for name, value in metadata.items():
            if shard.metadata.get(name, value) != value:
                raise DataError(
                    f"training shard {path} was made with {name}={shard.metadata[name]}, this run has {name}={value}; train into"
                    " an empty directory"
                )
        shards.append(shard)
        have += len(shard.tokens)
        on_shard(len(shard.tokens))
    return shards


def settle(shards: Sequence[Shard], conversations: int | None, read_lost: Sequence[Lost] = ()) -> Account:
    """What became of all rows: those lost in reading, those without an answer, those written, and those that nobody needed.
    ``conversations`` is how many the source had, None if as many as wanted.

    Raises:
        DataError: the account does not add up.
    """
    numbers = [set(shard.conversation_ids) for shard in shards]
    # a shard of someone who keeps no account: as many rows as there are in it
    begun = [int(shard.metadata.get(ROWS, len(there))) for shard, there in zip(shards, numbers, strict=True)]
    total = sum(begun) if conversations is None else conversations
    account = Account(read=total + len(read_lost), written=sum(map(len, numbers)))
    account.lose(read_lost)
    for shard in shards:
        account.lose(Lost(**row) for row in json.loads(shard.metadata.get(_LOST, "[]")))
    account.skipped += Counter({NOT_NEEDED: total - sum(begun)})
    account.check()
    return account
