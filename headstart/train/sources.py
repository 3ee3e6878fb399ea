"""Which source of conversations the options ask for."""

import hashlib

from headstart.errors import ChatTemplateError, DataError
from headstart.models.protocol import BaseModel
from headstart.text.tokenizer import Tokenizer
from headstart.train.conversations import read_conversations
from headstart.train.generation import Regenerated, SelfWritten, Source, recipe_for, recording_pool
from headstart.train.kept import Kept
from headstart.train.options import TrainOptions


def open_source(model: BaseModel, tokenizer: Tokenizer, options: TrainOptions) -> Source:
    """Read and check the data, if any.

    Raises:
        DataError: a data file is missing or malformed.
        ChatTemplateError: questions or answers need a chat template, and the tokenizer has none.
    """
    given = read_conversations(options.data) if options.data else None
    if not tokenizer.has_chat_template and (given is None or any(row.messages is not None for row in given)):
        raise ChatTemplateError(
            "this tokenizer has no chat template, so the model can neither write questions nor be asked any; give --data with"
            ' {"text": ...} rows, or a model that was made for chat'
        )
    recipe = recipe_for(model, tokenizer, seed=options.seed, max_new_tokens=options.max_new_tokens)
    if given is not None and options.keep_answers:
        return Kept(model, tokenizer, given, recipe.stop_ids)
    pool = recording_pool(model, max_rows=options.max_rows)
    return SelfWritten(pool, recipe) if given is None else Regenerated(pool, recipe, given)


def source_metadata(model: BaseModel, options: TrainOptions) -> dict[str, str]:
    """What a shard's content depends on, its conversations' numbers aside; kept in each shard."""
    kind = "self-written" if not options.data else "kept" if options.keep_answers else "regenerated"
    digest = hashlib.blake2b(digest_size=8)
    for path in options.data:
        try:
            digest.update(path.read_bytes())
        except OSError as error:
            raise DataError(f"training data {path} cannot be read: {error}") from error
    return {
        "kind": kind,
        "model": model.facts.name,
        "seed": str(options.seed),
        "max_new_tokens": str(options.max_new_tokens),
        **({"data": digest.hexdigest()} if options.data else {}),
    }
