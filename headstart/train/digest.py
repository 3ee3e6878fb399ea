"""Digests of what a run is given and told, so that one that is resumed notices when something else lies in its place."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from headstart.drafters.heads import MedusaHeads
from headstart.train.shards import Shard

_BYTES = 12


def digest_of_answers(shards: Sequence[Shard]) -> str:
    """Of all ids and of how they make up answers and conversations; not of the states, which are large and follow from the ids."""
    digest = hashlib.blake2b(digest_size=_BYTES)
    for shard in shards:
        digest.update(repr((shard.conversation_ids, shard.prompt_lengths, shard.answer_lengths, shard.greedy)).encode())
        digest.update(_bytes(shard.prompt_tokens))
        digest.update(_bytes(shard.tokens))
    return digest.hexdigest()


def digest_of_heads(heads: MedusaHeads) -> str:
    """Of their config and of every number in them."""
    return digest_of_tensors(heads.state_dict(), repr(heads.config))


def digest_of_tensors(tensors: Mapping[str, torch.Tensor], text: str = "") -> str:
    """Of every number, of names and formats, and of a ``text``."""
    digest = hashlib.blake2b(text.encode(), digest_size=_BYTES)
    for name, tensor in tensors.items():
        digest.update(f"{name} {tensor.dtype}".encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def digest_of_plan(values: Mapping[str, Any]) -> str:
    """Of what is said of a run; an empty text is something that an older version did not say, and does not count."""
    said = {name: value for name, value in values.items() if value != ""}
    return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=_BYTES).hexdigest()


def _bytes(tensor: torch.Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
