"""Which source of conversations the options ask for, and what the data had in them."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from headstart.errors import ChatTemplateError, DataError
from headstart.models.protocol import BaseModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.account import Lost, check_bad_rows
from headstart.train.asked import Asked
from headstart.train.conversations import Given, Reading, read_conversations
from headstart.train.decontamination import EvaluationPrompts, decontaminated, evaluation_prompts
from headstart.train.endpoint import Endpoint
from headstart.train.generation import Regenerated, SelfWritten, Source, recipe_for, recording_pool
from headstart.train.hub_rows import PREFIX
from headstart.train.kept import Kept
from headstart.train.options import TrainOptions
from headstart.train.recorded import Recorded
from headstart.train.scripts import Recipe
from headstart.train.vocabulary import check_vocabulary

JOURNAL = "answers.jsonl"
"""Where a run keeps what an endpoint has answered."""


@dataclass(frozen=True)
class Opened:
    """A source, and what reading the data came to."""

    source: Source | Recorded
    metadata: dict[str, str]
    """What a shard's content depends on, its conversations' numbers aside; kept in each shard."""
    lost: list[Lost]
    """Rows of the data that the source does not have."""
    stop_ids: frozenset[int]
    """Ids that end an answer."""
    expected_tokens: int | None
    """About how many answer tokens the data come to at most; None where the model writes its own questions."""


def open_source(model: BaseModel, tokenizer: Tokenizer, options: TrainOptions, run: Path) -> Opened:
    """Read and check the data, if any. What the source has to remember lies in the directory ``run``.

    Raises:
        DataError: a data file or a recorded answer is missing, or more rows are bad than allowed.
        ChatTemplateError: questions or answers need a chat template, and the tokenizer has none.
        TrainingError: the tokenizer is another model's, or the endpoint's key is missing.
    """
    check_vocabulary(tokenizer.vocab_size, model.facts.vocab_size)
    keeps_out = options.decontaminate_words > 0 and options.shards is None
    prompts = evaluation_prompts(options.decontaminate, options.decontaminate_words) if keeps_out else None
    reading = _reading(tokenizer, options, prompts) if options.data else None
    writes = options.shards is None and (reading is None or any(row.messages is not None for row in reading.rows))
    if writes and not tokenizer.has_chat_template:
        raise ChatTemplateError(
            "this tokenizer has no chat template, so the model can neither write questions nor be asked any; give --data with"
            ' {"text": ...} rows, or a model that was made for chat'
        )
    recipe = recipe_for(model, tokenizer, seed=options.seed, max_new_tokens=options.max_new_tokens, evaluation=prompts)
    source = _source(model, tokenizer, options, run, recipe, reading)
    lost = [] if reading is None else reading.lost
    return Opened(
        source, _metadata(model, options, reading), lost, recipe.stop_ids, _expected_tokens(source, reading, options.max_new_tokens)
    )


def _expected_tokens(source: Source | Recorded, reading: Reading | None, longest: int) -> int | None:
    if isinstance(source, Recorded):
        return source.tokens
    if reading is None:
        return None
    if isinstance(source, Kept):
        return source.expected_tokens()
    asked = [sum(message["role"] == "user" for message in row.messages) if row.messages else 1 for row in reading.rows]
    return longest * sum(asked)


def _source(
    model: BaseModel, tokenizer: Tokenizer, options: TrainOptions, run: Path, recipe: Recipe, reading: Reading | None
) -> Source | Recorded:
    if options.shards is not None:
        return Recorded(options.shards, model, options.cache)
    if reading is not None and options.keep_answers:
        return Kept(model, tokenizer, reading.rows, recipe.stop_ids, max_bad_rows=options.max_bad_rows)
    if reading is not None and options.endpoint is not None:
        assert options.endpoint_model is not None, "the options say so"
        endpoint = Endpoint(
            options.endpoint,
            options.endpoint_model,
            key_variable=options.api_key_env,
            timeout=options.endpoint_timeout,
            tries=options.endpoint_tries,
        )
        reader = Kept(model, tokenizer, reading.rows, recipe.stop_ids)
        return Asked(
            endpoint,
            reader,
            recipe,
            reading.rows,
            journal=run / JOURNAL,
            parallel=options.endpoint_parallel,
            max_failed=options.max_bad_rows,
        )
    pool = recording_pool(model, max_rows=options.max_rows)
    return SelfWritten(pool, recipe) if reading is None else Regenerated(pool, recipe, reading.rows)


def _reading(tokenizer: Tokenizer, options: TrainOptions, prompts: EvaluationPrompts | None) -> Reading:
    reading = read_conversations(options.data, max_bad_rows=options.max_bad_rows)
    faults = [_no_answer] if options.keep_answers else [_no_question] if options.endpoint else []
    if tokenizer.has_chat_template:
        faults.append(lambda row: _refused(row, tokenizer))
    for fault in faults:
        reading = _without(reading, fault, options.max_bad_rows)
    if prompts is not None:
        reading = decontaminated(reading, prompts)
    if not reading.rows:
        raise DataError(
            f"no row of the data is left to train on, of {len(reading.lost):,}; why, for the first ones:"
            + "".join(f"\n  {row.detail or row.reason}" for row in reading.lost[:5])
            + "\nMend them, or give other data"
        )
    return reading


def _without(reading: Reading, fault: Callable[[Given], Lost | None], limit: int) -> Reading:
    rows: list[Given] = []
    lost = list(reading.lost)
    for row in reading.rows:
        found = fault(row)
        if found is None:
            rows.append(row)
        else:
            lost.append(found)
            check_bad_rows(lost, limit)
    return Reading(rows, lost)


def _no_answer(row: Given) -> Lost | None:
    if row.messages is None or any(message["role"] == "assistant" for message in row.messages[1:]):
        return None
    detail = f"{row.origin}: no assistant message after another, so there is no answer to keep; leave out --keep-answers"
    return Lost("skipped", "no answer to keep", detail)


def _no_question(row: Given) -> Lost | None:
    if row.messages is not None:
        return None
    return Lost("skipped", "a plain text, which no chat endpoint goes on with", f"{row.origin}: a plain text, expected messages")


def _refused(row: Given, tokenizer: Tokenizer) -> Lost | None:
    """Found before the run: hours later it would end it."""
    if row.messages is None:
        return None
    try:
        tokenizer.template.render(row.messages, add_generation_prompt=False)
    except ChatTemplateError as error:
        return Lost("skipped", "refused by the chat template", f"{row.origin}: {error}")
    return None


def _metadata(model: BaseModel, options: TrainOptions, reading: Reading | None) -> dict[str, str]:
    if options.shards is not None:
        return {}  # they were made with whatever they were made with
    kept, asked = options.keep_answers, options.endpoint is not None
    kind = "self-written" if reading is None else "kept" if kept else "endpoint" if asked else "regenerated"
    metadata = {
        "kind": kind,
        "model": model.facts.name,
        "seed": str(options.seed),
        "max_new_tokens": str(options.max_new_tokens),
    }
    if reading is not None:
        metadata["data"] = _file_digest(options.data)
        content = hashlib.blake2b(digest_size=8)
        for row in reading.rows:
            content.update(json.dumps([row.messages, row.text]).encode())
        metadata["conversations"] = content.hexdigest()  # numbers mean the same rows, whatever was left out
    return metadata


def _file_digest(paths: tuple[Path, ...]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in paths:
        name = str(path)
        digest.update(name.encode() if name.startswith(PREFIX) else path.read_bytes())
    return digest.hexdigest()
