"""Digests of what a run is given, so that one that is resumed notices when something else lies in its place."""

import hashlib
from collections.abc import Sequence

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
    digest = hashlib.blake2b(repr(heads.config).encode(), digest_size=_BYTES)
    for name, tensor in heads.state_dict().items():
        digest.update(f"{name} {tensor.dtype}".encode())
        digest.update(_bytes(tensor))
    return digest.hexdigest()


def _bytes(tensor: torch.Tensor) -> bytes:
    return tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
